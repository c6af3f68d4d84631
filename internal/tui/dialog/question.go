package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// Form puts the questions of the model to the person, one after the other.
type Form struct {
	Pending session.PendingAsk
	From    string // another session that asks; "" is the one on the screen
	Send    func(follow.Answer) tea.Cmd

	given  [][]string // also of questions behind the open one, if the person went back
	open   int        // the question on the screen
	at     int        // option; the last one is the own answer, if there may be one
	chosen map[int]bool
	own    composer.Editor
}

// NewForm returns the dialog of questions.
func NewForm(a session.PendingAsk, send func(follow.Answer) tea.Cmd) *Form {
	return &Form{Pending: a, Send: send, chosen: map[int]bool{}}
}

func (f *Form) openQuestion() session.Question { return f.Pending.Questions[f.open] }

// isOwn reports whether the own answer is selected.
func (f *Form) isOwn() bool { return f.at == len(f.openQuestion().Options) }

func (f *Form) lastOption() int {
	n := len(f.openQuestion().Options) - 1
	if f.openQuestion().AllowsCustom() {
		n++
	}
	return n
}

// PressKey implements Dialog.
func (f *Form) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	// The order matters: editing own words comes before the keys of options, and moving and answering before both.
	key := k.String()
	switch {
	case key == "up" || key == "shift+tab":
		f.at = max(f.at-1, 0)
	case key == "down" || key == "tab":
		f.at = min(f.at+1, f.lastOption())
	case key == "enter":
		return f.takeAnswer()
	case key == "left" && f.open > 0 && (!f.isOwn() || f.own.IsEmpty()):
		f.openAt(f.open - 1)
	case key == "esc" && !f.own.IsEmpty():
		f.own.Clear()
	case key == "ctrl+x" || key == "esc":
		return f.Send(follow.Answer{Ask: f.Pending, Reply: session.ReplyReject}), true
	case f.isOwn():
		composer.EditLine(&f.own, k)
	case key == "space" && f.openQuestion().Multiple:
		f.chosen[f.at] = !f.chosen[f.at]
	case f.isNumber(key):
		f.at = int(key[0] - '1')
		switch {
		case f.isOwn():
		case f.openQuestion().Multiple:
			f.chosen[f.at] = !f.chosen[f.at]
		default:
			return f.takeAnswer()
		}
	}
	return nil, false
}

// UseOf implements KeyUser.
func (f *Form) UseOf(k tea.KeyPressMsg) KeyUse {
	switch {
	case f.isOwn(), !isText(k), k.Code == tea.KeySpace && f.openQuestion().Multiple:
		return ForDialog
	case f.isNumber(k.String()):
		return Answers
	}
	return ForPrompt
}

// TakeBack implements KeyUser. A number opens nothing.
func (f *Form) TakeBack() string { return "" }

// isNumber reports whether the key is the number of an option, also on the keypad.
func (f *Form) isNumber(key string) bool {
	return len(key) == 1 && key[0] >= '1' && key[0] <= '9' && int(key[0]-'1') <= f.lastOption()
}

// takeAnswer takes what is selected as the answer to the question on the screen.
func (f *Form) takeAnswer() (tea.Cmd, bool) {
	q, out := f.openQuestion(), []string{}
	for i, o := range q.Options {
		if f.chosen[i] || !q.Multiple && f.at == i {
			out = append(out, o.Label)
		}
	}
	own := strings.TrimSpace(f.own.Text())
	if own != "" && (q.Multiple || f.isOwn()) && !slices.Contains(out, own) {
		out = append(out, own)
	}
	if q.Multiple && len(out) == 0 && f.at < len(q.Options) {
		out = append(out, q.Options[f.at].Label)
	}
	f.given = slices.Replace(f.given, f.open, min(f.open+1, len(f.given)), out)
	if f.open++; f.open < len(f.Pending.Questions) {
		f.openAt(f.open)
		return nil, false
	}
	return f.Send(follow.Answer{Ask: f.Pending, Reply: session.ReplyOnce, Answers: f.given}), true
}

// openAt opens a question, with the answer that it was given before.
func (f *Form) openAt(i int) {
	f.open, f.at, f.chosen = i, 0, map[int]bool{}
	f.own.Clear()
	if i == len(f.given) {
		return
	}
	q := f.openQuestion()
	for _, answer := range f.given[i] {
		n := slices.IndexFunc(q.Options, func(o session.Option) bool { return o.Label == answer })
		switch {
		case n < 0:
			f.at = len(q.Options)
			f.own.SetText(answer)
		case q.Multiple:
			f.chosen[n] = true
		default:
			f.at = n
		}
	}
}

// PasteText implements Dialog.
func (f *Form) PasteText(text string) {
	if f.open < len(f.Pending.Questions) && f.isOwn() {
		f.own.Insert(text)
	}
}

// RenderLines implements Dialog.
func (f *Form) RenderLines(th style.Theme, width, height int) []string {
	if f.open >= len(f.Pending.Questions) {
		return nil
	}
	q := f.openQuestion()
	// The question, with its session if that is not the open one.
	var lines []string
	if f.From != "" {
		lines = append(lines, th.Muted.Render(Clip("in the session "+f.From, width)))
	}
	for _, l := range Wrap(q.Question, width) {
		lines = append(lines, th.Warning.Render(l))
	}
	// The options, of which the user's own words are the last.
	var options []string
	first := 0 // line of the selected option
	for i, l := range describe.OptionLines(q) {
		if i == f.at {
			first = len(options)
		}
		options = append(options, f.optionLines(th, i, l, width)...)
	}
	if q.AllowsCustom() {
		own := "your own words: "
		if f.isOwn() {
			own += f.own.RenderLine(width - 2 - 2 - len(own))
		} else {
			own += f.own.Text()
		}
		if f.isOwn() {
			first = len(options)
		}
		options = append(options, f.optionLines(th, len(q.Options), own, width)...)
	}
	// Cut a long question, so that some options stay visible.
	lines = lines[:min(len(lines), max(height-1-min(len(options), 4), 1))]
	// The keys that apply now.
	foot := "enter: answer"
	if f.isOwn() && f.own.IsEmpty() && len(f.chosen) == 0 {
		foot = "enter: give no answer"
	}
	if q.Multiple {
		foot = "space: choose  " + foot
	}
	if f.open > 0 {
		foot += "  left: back"
	}
	foot += "  esc: dismiss and stop"
	if n := len(f.Pending.Questions); n > 1 {
		foot = fmt.Sprintf("question %d of %d  %s", f.open+1, n, foot)
	}
	// Scroll the options to the selected one.
	part, _ := windowOf(options, first, max(height-len(lines)-1, 1))
	lines = append(append(lines, part...), th.Muted.Render(Clip(foot, width)))
	return lines[:min(len(lines), max(height, 1))]
}

// optionLines are the lines of an option, wrapped below its label.
func (f *Form) optionLines(th style.Theme, i int, label string, width int) []string {
	mark := "  "
	if i < 9 { // its key
		mark = fmt.Sprintf("%d ", i+1)
	}
	if f.openQuestion().Multiple && i < len(f.openQuestion().Options) {
		box := "[ ] "
		if f.chosen[i] {
			box = "[x] "
		}
		mark += box
	}
	st, at := th.Text, "  "
	if i == f.at {
		st, at = th.Selected, "> "
	}
	lines := Wrap(strings.ReplaceAll(label, "\n", " "), width-len(at+mark))
	for j, l := range lines {
		lines[j] = st.Render(Clip(at+mark+l, width))
		at, mark = "  ", strings.Repeat(" ", len(mark))
	}
	return lines
}
