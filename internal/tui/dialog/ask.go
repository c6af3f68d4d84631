package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/style"
)

// Ask puts a permission request to the person.
type Ask struct {
	Pending session.PendingAsk
	Reason  string // the rule that asks; "" is unknown
	From    string // another session that asks; "" is the one on the screen
	Waiting int    // asks behind this one
	Send    func(term.Answer) tea.Cmd

	options []Reply
	at      int
	scroll  int
	words   *composer.Editor // the words of a rejection; nil while none are typed
}

// NewAsk returns the dialog of a permission request.
func NewAsk(a session.PendingAsk, send func(term.Answer) tea.Cmd) *Ask {
	d := &Ask{Pending: a, Send: send}
	reply := func(r session.Reply, l session.Lifetime) func() tea.Cmd {
		return func() tea.Cmd { return send(term.Answer{Ask: a, Reply: r, Lifetime: l}) }
	}
	d.options = []Reply{{"y", "yes, once", reply(session.ReplyOnce, "")}}
	if len(a.Save) > 0 {
		pattern := term.FirstLine(a.Action+" "+strings.Join(a.Save, ", "), 200)
		d.options = append(
			d.options,
			Reply{
				"s",
				term.DescribeLifetime(session.LifetimeSession) + ": " + pattern,
				reply(session.ReplyAlways, session.LifetimeSession),
			},
			Reply{
				"a",
				term.DescribeLifetime(session.LifetimeProject) + ": " + pattern,
				reply(session.ReplyAlways, session.LifetimeProject),
			},
		)
	}
	d.options = append(
		d.options,
		Reply{Key: "r", Label: "reject with words, and go on"},
		Reply{"n", "reject and stop", reply(session.ReplyReject, "")},
	)
	return d
}

// PressKey implements Dialog. Only the keys of the options answer: Escape does not.
func (d *Ask) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	if d.words != nil {
		return d.pressWordKey(k)
	}
	switch key := k.String(); key {
	case "up", "shift+tab":
		d.at = (d.at + len(d.options) - 1) % len(d.options)
	case "down", "tab":
		d.at = (d.at + 1) % len(d.options)
	case "pgdown", "space", "ctrl+d":
		d.scroll += 10
	case "pgup", "ctrl+u":
		d.scroll = max(d.scroll-10, 0)
	case "enter":
		return d.chooseAnswer(d.at)
	default:
		for i, o := range d.options {
			if key == o.Key {
				return d.chooseAnswer(i)
			}
		}
	}
	return nil, false
}

func (d *Ask) chooseAnswer(i int) (tea.Cmd, bool) {
	if d.options[i].Do == nil {
		d.words = &composer.Editor{}
		return nil, false
	}
	return d.options[i].Do(), true
}

func (d *Ask) pressWordKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "esc":
		d.words = nil
	case "enter":
		text := strings.TrimSpace(d.words.Text())
		if text == "" {
			return nil, false
		}
		return d.Send(term.Answer{Ask: d.Pending, Reply: session.ReplyReject, Message: text}), true
	default:
		composer.EditLine(d.words, k)
	}
	return nil, false
}

// PasteText implements Dialog.
func (d *Ask) PasteText(text string) {
	if d.words != nil {
		d.words.Insert(text)
	}
}

// RenderLines implements Dialog: what is asked for, whole, then its details as far as there is room, then the options.
func (d *Ask) RenderLines(th style.Theme, width, height int) []string {
	head := Wrap(term.AskTitle(d.Pending), width)
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
		head = append(head, th.Muted.Render(term.FormatPlural(d.Waiting, "more ask")))
	}
	tail := optionLines(th, d.options, d.at, width)
	if d.words != nil {
		tail = []string{
			"Why not? " + Clip(lastCells(d.words.Text(), width-10), width),
			th.Muted.Render("enter: reject with these words  esc: back"),
		}
	}
	room := max(height-len(tail), 1)
	var body []string
	for _, l := range term.AskDetails(d.Pending) {
		for _, w := range Wrap(l, width) {
			body = append(body, paintDiff(th, w))
		}
	}
	all := append(head, body...)
	if len(all) > room {
		d.scroll = min(d.scroll, len(all)-room)
		all = append(all[d.scroll:d.scroll+room-1:d.scroll+room-1], th.Muted.Render(Clip("… more: page keys", width)))
	} else {
		d.scroll = 0
	}
	return append(all, tail...)
}

func lastCells(text string, n int) string {
	if r := []rune(text); len(r) > n && n > 0 {
		return "…" + string(r[len(r)-n+1:])
	}
	return text
}

func paintDiff(th style.Theme, line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return th.Added.Render(line)
	case strings.HasPrefix(line, "-"):
		return th.Removed.Render(line)
	default:
		return th.Text.Render(line)
	}
}
