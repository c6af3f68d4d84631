package dialog

import (
	"math"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/style"
)

// Text shows lines that can be scrolled.
type Text struct {
	Title  string
	Body   []string
	scroll int
}

// PressKey implements Dialog.
func (t *Text) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "up", "k":
		t.scroll--
	case "down", "j":
		t.scroll++
	case "pgup", "b", "ctrl+u":
		t.scroll -= 10
	case "pgdown", "space", "ctrl+d":
		t.scroll += 10
	case "home", "g":
		t.scroll = 0
	case "end", "G":
		t.scroll = math.MaxInt32 // more than any text has lines, also once it is wrapped
	case "esc", "q", "enter", "ctrl+c", "?":
		return nil, true
	}
	return nil, false
}

// PasteText implements Dialog.
func (t *Text) PasteText(string) {}

// RenderLines implements Dialog.
func (t *Text) RenderLines(th style.Theme, width, height int) []string {
	var body []string
	for _, l := range t.Body {
		for _, w := range Wrap(l, width) {
			body = append(body, paintDiff(th, w))
		}
	}
	room := max(height-2, 1)
	t.scroll = max(min(t.scroll, len(body)-room), 0)
	lines := []string{th.Heading.Render(Clip(t.Title, width))}
	lines = append(lines, body[t.scroll:min(t.scroll+room, len(body))]...)
	return append(lines, th.Muted.Render(Clip("arrows and page keys: scroll  esc: close", width)))
}

// LineInput asks for one line of text.
type LineInput struct {
	Title  string
	Secret bool // the text is not shown
	Done   func(text string) tea.Cmd
	text   composer.Editor
}

// NewLineInput returns a dialog that asks for a line, which begins as text.
func NewLineInput(title, text string, done func(string) tea.Cmd) *LineInput {
	in := &LineInput{Title: title, Done: done}
	in.text.SetText(text)
	return in
}

// PressKey implements Dialog.
func (in *LineInput) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "esc", "ctrl+c":
		return nil, true
	case "enter":
		return in.Done(strings.TrimSpace(in.text.Text())), true
	default:
		composer.EditLine(&in.text, k)
	}
	return nil, false
}

// PasteText implements Dialog.
func (in *LineInput) PasteText(text string) { in.text.Insert(strings.ReplaceAll(text, "\n", " ")) }

// RenderLines implements Dialog.
func (in *LineInput) RenderLines(th style.Theme, width, _ int) []string {
	text := in.text.RenderLine(width - 2)
	if in.Secret {
		text = in.text.RenderSecret(width - 2)
	}
	return []string{
		th.Heading.Render(Clip(in.Title, width)),
		Clip("> "+text, width),
		th.Muted.Render("enter: accept  esc: cancel"),
	}
}
