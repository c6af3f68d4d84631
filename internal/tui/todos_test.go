package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestTodosLine: the current todo is above the composer where the side bar is not shown, and nowhere twice.
func TestTodosLine(t *testing.T) {
	for width, want := range map[int]bool{80: true, 140: false} {
		m := newTestModel(t, composer.DraftFile{})
		openTestSession(m)
		m.Update(tea.WindowSizeMsg{Width: width, Height: 24})
		m.session.Todos = []session.Todo{
			{Content: "find it", Status: session.TodoCompleted}, {Content: "replace it", Status: session.TodoInProgress},
		}
		frame, _ := m.renderFrame()
		if got := strings.Contains(ansi.Strip(frame), "todos 1/2: replace it  ctrl+t: all"); got != want {
			t.Errorf("%d columns: %v\n%s", width, got, frame)
		}
	}
}
