package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestViComposer: with terminal.vi the mode is in the status line, letters of the normal mode are not text, Enter sends
// in both modes, and the next prompt begins in the insert mode.
func TestViComposer(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.vi.On = true
	escape := tea.KeyPressMsg{Code: tea.KeyEscape}
	shows := func(mode string) {
		t.Helper()
		if line := ansi.Strip(m.statusLine()); !strings.Contains(line, mode) {
			t.Errorf("the status line is %q, want %s", line, mode)
		}
	}
	m.history.Prompts = []string{"earlier"}
	shows("INSERT")
	typeText(m, "one two?")
	pressKeys(m, escape)
	shows("NORMAL")
	typeText(m, "bxk")
	if got := m.editor.Text(); got != "earlier" {
		t.Errorf("k in the first row recalls %q", got)
	}
	typeText(m, "jdd")
	pressKeys(m, escape, escape)
	typeText(m, "ifix it")
	pressKeys(m, escape)
	if _, sent := sentFiles(m); !sent || m.unsentPrompts[0].Text != "fix it" {
		t.Errorf("sent: %v %+v", sent, m.unsentPrompts)
	}
	shows("INSERT")
}
