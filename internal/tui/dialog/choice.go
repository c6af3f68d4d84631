package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
)

// Reply is one of the answers of a Choice.
type Reply struct {
	Key   string // that selects it at once
	Label string
	Do    func() tea.Cmd // nil does nothing
}

// Choice asks for one of a few options. Escape selects the last one.
type Choice struct {
	Title   string
	Text    []string
	Options []Reply
	At      int // the option that Enter takes, unless another one is selected
	// Type is set where an option cannot be taken back: then keys of options only select them, Enter takes one, and text
	// closes the dialog and is given to Type. It belongs to a prompt.
	Type func(text string)

	typed string // keys that selected an option
}

// PressKey implements Dialog.
func (c *Choice) PressKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "up", "shift+tab", "left":
		c.At = (c.At + len(c.Options) - 1) % len(c.Options)
	case "down", "tab", "right":
		c.At = (c.At + 1) % len(c.Options)
	case "enter":
		return c.chooseAnswer(c.At)
	case "esc", "ctrl+c":
		return c.chooseAnswer(len(c.Options) - 1)
	default:
		return c.pressOption(k)
	}
	return nil, false
}

// pressOption handles the key of an option, and text.
func (c *Choice) pressOption(k tea.KeyPressMsg) (tea.Cmd, bool) {
	i := slices.IndexFunc(c.Options, func(o Reply) bool { return o.Key != "" && o.Key == k.String() })
	switch {
	case c.Type == nil && i >= 0:
		return c.chooseAnswer(i)
	case c.Type == nil || !isText(k):
		return nil, false
	case i >= 0 && c.typed == "":
		c.At, c.typed = i, k.Text
		return nil, false
	}
	c.Type(c.typed + k.Text)
	return nil, true
}

func (c *Choice) chooseAnswer(i int) (tea.Cmd, bool) {
	if do := c.Options[i].Do; do != nil {
		return do(), true
	}
	return nil, true
}

// PasteText implements Dialog.
func (c *Choice) PasteText(string) {}

// TakeBack returns the typed key that selected an option, because more text followed: it was the beginning of a prompt.
func (c *Choice) TakeBack() (typed string) {
	typed, c.typed = c.typed, ""
	return typed
}

// RenderLines implements Dialog.
func (c *Choice) RenderLines(th style.Theme, width, height int) []string {
	options := optionLines(th, c.Options, c.At, width)
	if c.Type != nil && height > len(options)+1 { // a key alone takes none of them
		hint := "enter: " + c.Options[c.At].Label + "  esc: " + c.Options[len(c.Options)-1].Label
		options = append(options, th.Muted.Render(Clip(hint, width)))
	}
	lines := []string{titleLine(th, c.Title, width)}
	var text []string
	for _, l := range c.Text {
		text = append(text, Wrap(l, width)...)
	}
	room := max(height-len(options)-1, 0)
	if len(text) > room {
		text = text[:room]
	}
	return append(append(lines, text...), options...)
}

func optionLines(th style.Theme, options []Reply, at, width int) []string {
	var lines []string
	for i, o := range options {
		mark, name := "  ", o.Label
		if o.Key != "" {
			name = o.Key + strings.Repeat(" ", max(1, 3-len(o.Key))) + o.Label
		}
		if i == at {
			mark = "> "
			lines = append(lines, th.Selected.Render(Clip(mark+name, width)))
			continue
		}
		lines = append(lines, th.Text.Render(Clip(mark+name, width)))
	}
	return lines
}

// DescribeRevert says what a revert does to files.
func DescribeRevert(r *session.Revert) []string {
	var lines []string
	for _, f := range r.Files {
		lines = append(lines, fmt.Sprintf("  %s %s  +%d -%d", f.Status, f.Path, f.Additions, f.Deletions))
	}
	for _, k := range r.Kept {
		lines = append(lines, fmt.Sprintf("  stays: %s: %s", k.Path, k.Reason))
	}
	for _, u := range r.Unknown {
		lines = append(lines, "  not restored: "+u)
	}
	if len(lines) == 0 {
		return []string{"No file changes."}
	}
	return append([]string{"What it does to files:"}, lines...)
}
