package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/diffview"
	"github.com/cairn-dev/cairn/internal/client/describe/patch"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// Ask puts a permission request to the person.
type Ask struct {
	Pending session.PendingAsk
	Reason  string // the rule that asks; "" is unknown
	From    string // another session that asks; "" is the one on the screen
	Waiting int    // asks behind this one
	Send    func(follow.Answer) tea.Cmd
	View    func(*Text) // shows a text on the whole screen

	options []Reply
	at      int
	lasting *Reply // the lasting answer that Enter gives; nil unless one is open
	opener  string // the text of the key that opened it; "" if it was Enter
	scroll  int
	page    int              // lines that a page key scrolls: what was on the screen last
	words   *composer.Editor // the words of a rejection; nil while none are typed

	details     []string // lines about what is asked for, made for detailWidth
	detailWidth int

	patterns []string         // that always saves
	pattern  *composer.Editor // the pattern that is edited; nil while none is
	edited   []string         // those before it, as they were edited
}

// NewAsk returns the dialog of a permission request.
func NewAsk(a session.PendingAsk, send func(follow.Answer) tea.Cmd) *Ask {
	d := &Ask{Pending: a, Send: send, patterns: a.Save}
	d.setOptions()
	return d
}

// SetPatterns sets the patterns that always saves, which the person has edited.
func (d *Ask) SetPatterns(patterns []string) {
	d.patterns = patterns
	d.setOptions()
}

// setOptions sets the options for the patterns.
func (d *Ask) setOptions() {
	a := d.Pending
	// The reply holds the patterns only if they were edited; otherwise the server's own apply.
	reply := func(r session.Reply, l session.Lifetime) func() tea.Cmd {
		return func() tea.Cmd {
			ans := follow.Answer{Ask: a, Reply: r, Lifetime: l}
			if r == session.ReplyAlways && !slices.Equal(d.patterns, a.Save) {
				ans.Patterns = d.patterns
			}
			return d.Send(ans)
		}
	}
	// The plain yes comes first.
	once := "yes, once"
	if describe.IsBeforeCommand(a) {
		once = "yes, once, with the command"
	}
	d.options = []Reply{{"y", once, reply(session.ReplyOnce, "")}}
	// Answers that save the permission, if it can be saved. They are only opened by their key.
	if len(a.Save) > 0 {
		pattern := terminal.FirstLine(describe.DescribeSaved(a, d.patterns), 200)
		for _, o := range []struct {
			key  string
			hold session.Lifetime
		}{{"s", session.LifetimeSession}, {"a", session.LifetimeProject}} {
			label := describe.DescribeLifetime(o.hold) + ": " + pattern
			d.options = append(d.options, Reply{o.key, label, reply(session.ReplyAlways, o.hold)})
		}
	}
	// The refusals last.
	d.options = append(
		d.options,
		Reply{"n", "reject and stop", reply(session.ReplyReject, "")},
		Reply{Key: "esc", Label: "reject, with words if you like"},
	)
}

// isLasting reports whether the option saves an approval.
func isLasting(o Reply) bool { return o.Key == "s" || o.Key == "a" }

// UseOf implements KeyUser. Text is an answer by its first key only, and never to an answer that lasts.
func (d *Ask) UseOf(k tea.KeyPressMsg) KeyUse {
	switch {
	case d.words != nil, d.pattern != nil, !isText(k):
		return ForDialog
	case d.lasting != nil:
		return ForPrompt
	case k.Code == tea.KeySpace:
		return ForDialog
	case slices.ContainsFunc(d.options, func(o Reply) bool { return o.Key == k.String() }):
		return Answers
	}
	return ForPrompt
}

// TakeBack implements KeyUser: it closes an open lasting answer.
func (d *Ask) TakeBack() (typed string) {
	if typed = d.opener; typed != "" {
		d.at = 0
	}
	d.lasting, d.opener = nil, ""
	return typed
}

// PressKey implements Dialog.
func (d *Ask) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	// What is open takes all keys.
	switch {
	case d.words != nil:
		return d.pressWordKey(k)
	case d.pattern != nil:
		d.pressPatternKey(k)
		return nil, false
	case d.lasting != nil:
		return d.pressLastingKey(k)
	}
	// Select an option, scroll the details, or answer.
	switch key := k.String(); key {
	case "up", "shift+tab":
		d.at = (d.at + len(d.options) - 1) % len(d.options)
	case "down", "tab":
		d.at = (d.at + 1) % len(d.options)
	case "pgdown", "space", "ctrl+d":
		d.scroll += max(d.page, 1)
	case "pgup", "ctrl+u":
		d.scroll = max(d.scroll-max(d.page, 1), 0)
	case "ctrl+f":
		d.View(d.wholeText())
	case "enter":
		return d.chooseAnswer(d.at, "")
	default:
		for i, o := range d.options {
			if key == o.Key {
				return d.chooseAnswer(i, k.Text)
			}
		}
	}
	return nil, false
}

// wholeText returns what is asked for as a text for the whole screen.
func (d *Ask) wholeText() *Text {
	title := strings.Split(describe.AskTitle(d.Pending), "\n")
	t := &Text{Title: title[0]}
	if diff := describe.AskDiff(d.Pending); !patch.IsEmpty(diff) {
		t.Changes = []FilePatch{{Path: strings.TrimSpace(strings.Join(title[1:], " ")), Patch: diff}}
		t.Body = describe.AskCommand(d.Pending)
		return t
	}
	t.Body = append(title, describe.AskDetails(d.Pending)...)
	return t
}

// chooseAnswer gives the answer of an option, or opens what it needs. typed is the text of the key that chose it.
func (d *Ask) chooseAnswer(i int, typed string) (tea.Cmd, bool) {
	switch o := d.options[i]; {
	case isLasting(o):
		d.at, d.lasting, d.opener = i, &d.options[i], typed
		return nil, false
	case o.Do == nil:
		d.words = &composer.Editor{}
		return nil, false
	default:
		return o.Do(), true
	}
}

// pressLastingKey handles a key while a lasting answer is open: Enter gives it, Tab edits its patterns.
func (d *Ask) pressLastingKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "enter":
		return d.lasting.Do(), true
	case "tab":
		d.edited = []string{}
		d.openPattern()
	case "esc":
		d.TakeBack()
	}
	return nil, false
}

// pressWordKey handles a key of the words of a rejection. Escape rejects without words.
func (d *Ask) pressWordKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	text := strings.TrimSpace(d.words.Text())
	switch key := k.String(); {
	case key == "esc" && text != "":
		d.words.Clear()
	case key == "esc" || key == "enter":
		return d.Send(follow.Answer{Ask: d.Pending, Reply: session.ReplyReject, Message: text}), true
	case key == "backspace" && d.words.IsEmpty():
		d.words = nil
	default:
		composer.EditLine(d.words, k)
	}
	return nil, false
}

// openPattern begins to edit the next pattern.
func (d *Ask) openPattern() {
	d.pattern = &composer.Editor{}
	d.pattern.SetText(d.patterns[len(d.edited)])
}

// pressPatternKey edits the patterns one after another. A pattern without text is left out; at least one remains.
func (d *Ask) pressPatternKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "esc":
		d.pattern = nil
	case "enter":
		d.edited = append(d.edited, strings.TrimSpace(d.pattern.Text()))
		if len(d.edited) < len(d.patterns) {
			d.openPattern()
			return
		}
		d.pattern = nil
		kept := slices.DeleteFunc(d.edited, func(p string) bool { return p == "" })
		if len(kept) == 0 {
			kept = d.Pending.Save
		}
		lasting := d.at
		d.SetPatterns(kept)
		d.lasting = &d.options[lasting]
	default:
		composer.EditLine(d.pattern, k)
	}
}

// PasteText implements Dialog.
func (d *Ask) PasteText(text string) {
	switch {
	case d.words != nil:
		d.words.Insert(text)
	case d.pattern != nil:
		d.pattern.Insert(terminal.FirstLine(text, 1000))
	}
}

// RenderLines implements Dialog: what is asked for and its details as far as there is room, then the options. On a low
// screen these are the ones around the one that Enter takes.
func (d *Ask) RenderLines(th style.Theme, width, height int) []string {
	all := d.describeLines(th, width)
	tail, at := optionLines(th, d.options, d.at, width), d.at
	if d.words != nil || d.pattern != nil || d.lasting != nil {
		tail, at = d.openLines(th, width), 0
	}
	tail, _ = windowOf(tail, at, max(height-min(len(all), max(height/3, min(2, height-1))), 1))
	room := max(height-len(tail), 1)
	if len(all) <= room {
		d.scroll = 0
		return append(all, tail...)
	}
	d.page = max(room-1, 1)
	d.scroll = min(d.scroll, len(all)-d.page)
	shown := slices.Clone(all[d.scroll : d.scroll+d.page])
	if room > 1 {
		about := describePosition(d.scroll, d.page, len(all)) + "; page keys: scroll"
		shown = append(shown, th.Muted.Render(Clip(about, width)))
	}
	return append(shown, tail...)
}

// describeLines are all lines about what is asked for.
func (d *Ask) describeLines(th style.Theme, width int) []string {
	head := Wrap(describe.AskTitle(d.Pending), width)
	for i := range head {
		head[i] = th.Warning.Render(head[i])
	}
	if d.From != "" {
		head = append([]string{th.Muted.Render(Clip("in the session "+d.From, width))}, head...)
	}
	if d.Reason != "" {
		head = append(head, th.Muted.Render(Clip("asked by "+d.Reason, width)))
	}
	if d.Waiting > 0 {
		head = append(head, th.Muted.Render(terminal.FormatPlural(d.Waiting, "more ask")))
	}
	return append(head, d.detailLines(th, width)...)
}

// maxDiffLines bounds the lines of a change that are shown.
const maxDiffLines = 5000

// detailLines are the lines of the command that what is asked for stands in, and of the change.
func (d *Ask) detailLines(th style.Theme, width int) []string {
	if d.details != nil && d.detailWidth == width {
		return d.details
	}
	text, changed := describe.AskDetails(d.Pending), diffview.Render(th, describe.AskDiff(d.Pending), width, true)
	if len(changed) > 0 {
		text = describe.AskCommand(d.Pending)
	}
	lines := []string{}
	for _, l := range text {
		for _, w := range Wrap(l, width) {
			lines = append(lines, th.Text.Render(w))
		}
	}
	if more := len(changed) - maxDiffLines; more > 0 {
		changed = append(changed[:maxDiffLines], th.Muted.Render(Clip(terminal.FormatPlural(more, "more line"), width)))
	}
	d.details, d.detailWidth = append(lines, changed...), width
	return d.details
}

// openLines are the lines of what is open instead of the options: the words of a rejection, a pattern that is edited,
// or a lasting answer with what it saves.
func (d *Ask) openLines(th style.Theme, width int) []string {
	if d.words != nil {
		help := "enter or esc: reject without words  backspace: back"
		if strings.TrimSpace(d.words.Text()) != "" {
			help = "enter: reject with these words  esc: clear them"
		}
		return []string{
			Clip("Reject. Why? "+d.words.RenderLine(width-len("Reject. Why? ")), width), th.Muted.Render(Clip(help, width)),
		}
	}
	if d.pattern != nil {
		lifetime, _, _ := strings.Cut(d.options[d.at].Label, ":")
		name := "allow " + terminal.FirstLine(d.Pending.Action, 40) + " "
		help := "enter: take it  esc: back"
		if len(d.patterns) > 1 {
			help = fmt.Sprintf("%d of %d; empty leaves it out  %s", len(d.edited)+1, len(d.patterns), help)
		}
		return []string{
			Clip("allow "+lifetime+", what it covers:", width),
			Clip(name+d.pattern.RenderLine(width-ansi.StringWidth(name)), width), th.Muted.Render(Clip(help, width)),
		}
	}
	var lines []string
	for _, l := range Wrap("allow "+d.lasting.Label, width) {
		lines = append(lines, th.Selected.Render(l))
	}
	return append(lines, th.Muted.Render(Clip("enter: allow it  tab: edit what it covers  esc: back", width)))
}
