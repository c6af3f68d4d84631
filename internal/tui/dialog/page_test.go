package dialog

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestPageKeys: a page key of a text moves by what is on the screen, less one line.
func TestPageKeys(t *testing.T) {
	text := &Text{Body: slices.Repeat([]string{"x"}, 200)}
	text.RenderLines(style.Theme{}, 60, 42)
	text.PressKey(tea.KeyPressMsg{Code: tea.KeyPgDown})
	if lines := text.RenderLines(style.Theme{}, 60, 42); !strings.Contains(lines[len(lines)-1], "lines 40-79 of 200") {
		t.Error(lines[len(lines)-1])
	}
	text.PressKey(tea.KeyPressMsg{Code: tea.KeyPgUp})
	if lines := text.RenderLines(style.Theme{}, 60, 42); !strings.Contains(lines[len(lines)-1], "lines 1-40 of 200") {
		t.Error(lines[len(lines)-1])
	}
}

// TestFormNumbers: the options of a question have their numbers, also the one for own words.
func TestFormNumbers(t *testing.T) {
	options := []session.Option{{Label: "red"}, {Label: "blue"}}
	for multiple, want := range map[bool]string{
		false: "> 1 red\n  2 blue\n  3 your own", true: "> 1 [ ] red\n  2 [ ] blue\n  3 your own",
	} {
		f := NewForm(session.PendingAsk{Questions: []session.Question{{
			Question: "Which?", Options: options, Multiple: multiple,
		}}}, nil)
		if got := strings.Join(f.RenderLines(style.Theme{}, 60, 20), "\n"); !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// TestAskHints: the editor of a pattern names its lifetime, and that of a reason says what Escape does now.
func TestAskHints(t *testing.T) {
	ask := session.PendingAsk{ID: "per_1", Action: "bash", Resources: []string{"make test"}, Save: []string{"make *"}}
	show := func(keys ...tea.KeyPressMsg) string {
		d := NewAsk(ask, func(follow.Answer) tea.Cmd { return nil })
		for _, k := range keys {
			d.PressKey(k)
		}
		return strings.Join(d.RenderLines(style.Theme{}, 60, 20), "\n")
	}
	tab, esc := tea.KeyPressMsg{Code: tea.KeyTab}, tea.KeyPressMsg{Code: tea.KeyEscape}
	key := func(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }
	for name, c := range map[string]struct {
		got, want string
	}{
		"for the session": {show(key('s'), tab), "allow always in this session, what it covers:"},
		"for the project": {show(key('a'), tab), "allow always in this project until revoked, what"},
		"no reason":       {show(esc), "enter or esc: reject without words"},
		"a reason":        {show(esc, key('w')), "esc: clear them"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: %q is missing in\n%s", name, c.want, c.got)
		}
	}
}
