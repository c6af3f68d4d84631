package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestModes: a key goes through the modes, which the status line shows; a new session asks again.
func TestModes(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	m.offers.Agents = []session.Agent{{ID: "build"}, {ID: "plan"}}
	key := tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	for i, want := range []struct {
		line   string
		policy session.AskPolicy
		agent  string
	}{
		{"ready · edits pass · build ·", "edits", ""}, {"ready · plan ·", "", "plan"}, {"ready · build ·", "", "build"},
	} {
		pressKeys(m, key)
		if line := ansi.Strip(m.statusLine()); !strings.HasPrefix(line, want.line) || m.policy != want.policy || m.agent != want.agent {
			t.Errorf("press %d: %q, policy %q, agent %q", i, line, m.policy, m.agent)
		}
	}
	pressKeys(m, key)
	if closeSession(m); m.policy != "" {
		t.Error("the mode outlives its session")
	}
}
