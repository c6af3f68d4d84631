package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// openCalls shows a session with two calls whose results have lines.
func openCalls(m *model) {
	call := func(name, out string) *session.Tool {
		return &session.Tool{Name: name, State: session.ToolState{
			Status: session.ToolCompleted, Input: jsontext.Value(`{"filePath":"` + name + `.go"}`),
			Content: []session.ToolContent{{Text: out}},
		}}
	}
	m.Update(openedMsg{
		session: &session.Session{ID: "ses_1"}, status: api.Status{Type: api.StatusIdle},
		messages: api.Page[session.Message]{Data: []session.Message{
			&session.Assistant{Content: []session.Content{
				&session.Text{Text: "some words"}, call("read", "first result"), call("grep", "second result"),
			}, Finish: "stop"},
			&session.User{Text: "go"},
		}},
	})
}

// findLine returns the row of the last picture that has the text.
func findLine(t *testing.T, m *model, text string) int {
	t.Helper()
	m.View()
	for y, l := range m.frame {
		if strings.Contains(ansi.Strip(l), text) {
			return y
		}
	}
	t.Fatalf("%q is not on the screen:\n%s", text, strings.Join(m.frame, "\n"))
	return 0
}

// TestClickOpens: a click on the line of a call opens it, another one closes it, and neither selects anything.
func TestClickOpens(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openCalls(m)
	click := func(y int) {
		m.Update(tea.MouseClickMsg{X: 3, Y: y, Button: tea.MouseLeft})
		m.Update(tea.MouseReleaseMsg{X: 3, Y: y, Button: tea.MouseLeft})
	}
	for i, c := range []struct{ line, shown, hidden string }{
		{"read.go", "first result", "second result"},
		{"grep", "second result", ""},
		{"read.go", "second result", "first result"},
		{"some words", "second result", "first result"},
	} {
		click(findLine(t, m, c.line))
		m.View()
		screen := ansi.Strip(strings.Join(m.frame, "\n"))
		if !strings.Contains(screen, c.shown) || c.hidden != "" && strings.Contains(screen, c.hidden) {
			t.Errorf("after click %d:\n%s", i, screen)
		}
	}
	if got := m.transcript.DescribeSelection(); got != "" {
		t.Errorf("selected: %s", got)
	}
}

// TestDragCopies: a drag marks text and copies it when the button is released.
func TestDragCopies(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openCalls(m)
	y := findLine(t, m, "some words")
	x := strings.Index(ansi.Strip(m.frame[y]), "some")
	m.Update(tea.MouseClickMsg{X: x + 5, Y: y, Button: tea.MouseLeft})
	m.Update(tea.MouseMotionMsg{X: x + 7, Y: y, Button: tea.MouseLeft})
	if marked := m.markSelected(slices.Clone(m.frame)); marked[y] == m.frame[y] || ansi.Strip(marked[y]) != ansi.Strip(m.frame[y]) {
		t.Errorf("the selected text is shown as %q", marked[y])
	}
	_, cmd := m.Update(tea.MouseReleaseMsg{X: x + 7, Y: y, Button: tea.MouseLeft})
	if got := fmt.Sprint(rawOf(cmd)); got != ansi.SetSystemClipboard("wor") || m.drag != (drag{}) {
		t.Errorf("copied %q", got)
	}
	m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	m.Update(tea.MouseMotionMsg{X: 40, Y: y + 2, Button: tea.MouseLeft})
	m.View()
	_, cmd = m.Update(tea.MouseReleaseMsg{X: 40, Y: y + 2, Button: tea.MouseLeft})
	if got := fmt.Sprint(rawOf(cmd)); got != ansi.SetSystemClipboard("some words\n\n✓ read read.go") {
		t.Errorf("copied %q", got)
	}
}

// rawOf returns what a command, or one of its parts, writes to the terminal.
func rawOf(cmd tea.Cmd) any {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case tea.RawMsg:
		return msg.Msg
	case tea.BatchMsg:
		for _, c := range msg {
			if raw := rawOf(c); raw != nil {
				return raw
			}
		}
	}
	return nil
}
