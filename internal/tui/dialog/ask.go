package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/diffview"
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

	options []Reply
	at      int
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
	// Options that save the permission, if it can be saved.
	if len(a.Save) > 0 {
		pattern := terminal.FirstLine(describe.DescribeSaved(a, d.patterns), 200)
		d.options = append(
			d.options,
			Reply{
				"s",
				describe.DescribeLifetime(session.LifetimeSession) + ": " + pattern,
				reply(session.ReplyAlways, session.LifetimeSession),
			},
			Reply{
				"a",
				describe.DescribeLifetime(session.LifetimeProject) + ": " + pattern,
				reply(session.ReplyAlways, session.LifetimeProject),
			},
			Reply{Key: editKey, Label: "edit what always allows"},
		)
	}
	// The refusals last.
	d.options = append(
		d.options,
		Reply{Key: "r", Label: "reject with words, and go on"},
		Reply{"n", "reject and stop", reply(session.ReplyReject, "")},
	)
}

// editKey is the key of the option that edits the patterns.
const editKey = "e"

// PressKey implements Dialog. Only the keys of the options answer: Escape does not.
func (d *Ask) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch {
	case d.words != nil:
		return d.pressWordKey(k)
	case d.pattern != nil:
		d.pressPatternKey(k)
		return nil, false
	}
	switch key := k.String(); key {
	case "up", "shift+tab":
		d.at = (d.at + len(d.options) - 1) % len(d.options)
	case "down", "tab":
		d.at = (d.at + 1) % len(d.options)
	case "pgdown", "space", "ctrl+d":
		d.scroll += max(d.page, 1)
	case "pgup", "ctrl+u":
		d.scroll = max(d.scroll-max(d.page, 1), 0)
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

// IgnoresKey reports whether the key is text that answers nothing.
func (d *Ask) IgnoresKey(k tea.KeyPressMsg) bool {
	return d.words == nil && d.pattern == nil && isText(k) && k.Code != tea.KeySpace &&
		!slices.ContainsFunc(d.options, func(o Reply) bool { return o.Key == k.String() })
}

func (d *Ask) chooseAnswer(i int) (tea.Cmd, bool) {
	switch {
	case d.options[i].Key == editKey:
		d.edited = []string{}
		d.openPattern()
		return nil, false
	case d.options[i].Do == nil:
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
		return d.Send(follow.Answer{Ask: d.Pending, Reply: session.ReplyReject, Message: text}), true
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
		d.SetPatterns(kept)
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
	if d.words != nil || d.pattern != nil {
		tail, at = d.inputLines(th, width), 0
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
		shown = append(shown, th.Muted.Render(Clip("… more: page keys", width)))
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

// inputLines are the words of a rejection or the pattern, while they are typed.
func (d *Ask) inputLines(th style.Theme, width int) []string {
	if d.words != nil {
		return []string{
			Clip("Why not? "+d.words.RenderLine(width-len("Why not? ")), width),
			th.Muted.Render(Clip("enter: reject with these words  esc: back", width)),
		}
	}
	name := fmt.Sprintf("always allow %s: ", terminal.FirstLine(d.Pending.Action, 40))
	help := "enter: take it  esc: back"
	if len(d.patterns) > 1 {
		help = fmt.Sprintf("%d of %d; empty leaves it out  %s", len(d.edited)+1, len(d.patterns), help)
	}
	return []string{
		Clip(name+d.pattern.RenderLine(width-ansi.StringWidth(name)), width), th.Muted.Render(Clip(help, width)),
	}
}
