package dialog

import (
	"math"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe/diffview"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// Text shows changes of files, if there are some, and lines. They can be scrolled.
type Text struct {
	Title   string
	Changes []FilePatch
	Body    []string
	// Enter is the act of the key Enter, EnterLabel names it; nil closes. Then text closes the dialog and is given to
	// Type: it belongs to a prompt.
	Enter      func() tea.Cmd
	EnterLabel string
	Type       func(text string)

	scroll int
	page   int      // lines that a page key scrolls: one less than were on the screen last
	lines  []string // of changes and body, made for width
	width  int
}

// FilePatch is the patch of a file.
type FilePatch struct {
	Path  string
	Patch string // in the unified format
}

// PressKey implements Dialog.
func (t *Text) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch {
	case t.Enter != nil && k.String() == "enter":
		return t.Enter(), true
	case t.Enter != nil && isText(k):
		if t.Type != nil {
			t.Type(k.Text)
		}
		return nil, true
	}
	switch k.String() {
	case "up", "k":
		t.scroll--
	case "down", "j":
		t.scroll++
	case "pgup", "b", "ctrl+u":
		t.scroll -= max(t.page, 1)
	case "pgdown", "space", "ctrl+d":
		t.scroll += max(t.page, 1)
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
	if t.lines == nil || t.width != width {
		t.lines, t.width = t.wrapLines(th, width), width
	}
	body, room := t.lines, max(height-2, 1)
	t.page = room - 1
	t.scroll = max(min(t.scroll, len(body)-room), 0)
	lines := []string{titleLine(th, t.Title, width)}
	lines = append(lines, body[t.scroll:min(t.scroll+room, len(body))]...)
	help := "esc: close"
	if len(body) > room {
		help = describePosition(t.scroll, room, len(body)) + "  arrows and page keys: scroll  " + help
	}
	if t.Enter != nil {
		help = "enter: " + t.EnterLabel + "  " + help
	}
	return append(lines, th.Muted.Render(Clip(help, width)))
}

// wrapLines returns all lines at the width.
func (t *Text) wrapLines(th style.Theme, width int) []string {
	lines := []string{}
	for _, c := range t.Changes {
		if c.Path != "" {
			lines = append(lines, th.Heading.Render(Clip(terminal.FirstLine(c.Path, 500), width)))
		}
		lines = append(lines, diffview.Render(th, terminal.ReplaceControls(c.Patch), width, true)...)
		lines = append(lines, "")
	}
	for _, l := range t.Body {
		for _, w := range Wrap(l, width) {
			lines = append(lines, th.Text.Render(w))
		}
	}
	return lines
}

// LineInput asks for one line of text.
type LineInput struct {
	Title  string
	Body   []string // lines above the input
	Secret bool     // the text is not shown
	Done   func(text string) tea.Cmd
	text   composer.Editor
	old    bool // the text is an earlier one, which typing replaces
}

// NewLineInput returns a dialog that asks for a line, which begins as text.
func NewLineInput(title, text string, done func(string) tea.Cmd) *LineInput {
	in := &LineInput{Title: title, Done: done}
	in.text.SetText(text)
	return in
}

// NewSearchInput returns a dialog that asks for a line; the first typed character replaces the earlier text.
func NewSearchInput(title, earlier string, done func(string) tea.Cmd) *LineInput {
	in := NewLineInput(title, earlier, done)
	in.old = earlier != ""
	return in
}

// replaceOld removes the earlier text, because text is typed or pasted.
func (in *LineInput) replaceOld() {
	if in.old {
		in.old = false
		in.text.Clear()
	}
}

// PressKey implements Dialog.
func (in *LineInput) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "esc", "ctrl+c":
		return nil, true
	case "enter":
		return in.Done(strings.TrimSpace(in.text.Text())), true
	default:
		if isText(k) {
			in.replaceOld()
		}
		in.old = false
		composer.EditLine(&in.text, k)
	}
	return nil, false
}

// PasteText implements Dialog.
func (in *LineInput) PasteText(text string) {
	in.replaceOld()
	in.text.Insert(strings.ReplaceAll(text, "\n", " "))
}

// RenderLines implements Dialog.
func (in *LineInput) RenderLines(th style.Theme, width, _ int) []string {
	text := in.text.RenderLine(width - 2)
	if in.Secret {
		text = in.text.RenderSecret(width - 2)
	}
	if in.old {
		text = th.Selected.Render(terminal.FirstLine(in.text.Text(), 1000))
	}
	lines := []string{titleLine(th, in.Title, width)}
	for _, l := range in.Body {
		for _, w := range Wrap(l, width) {
			lines = append(lines, th.Text.Render(w))
		}
	}
	return append(lines, Clip("> "+text, width), th.Muted.Render("enter: accept  esc: cancel"))
}
