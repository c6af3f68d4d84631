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
	// It lasts as long as its session, which begins with the first prompt and is read again after an undo.
	m = newTestModel(t, composer.DraftFile{})
	pressKeys(m, key)
	m.Update(promptedMsg{session: &session.Session{ID: "ses_1"}, prompt: &outgoingPrompt{}})
	openTestSession(m)
	if m.policy != "edits" {
		t.Error("the mode ends within its session")
	}
	for name, leave := range map[string]func(){
		"new session":     func() { beginSession(m) },
		"another session": func() { m.Update(openedMsg{session: &session.Session{ID: "ses_2"}}) },
	} {
		openTestSession(m)
		m.policy = "edits"
		if leave(); m.policy != "" {
			t.Errorf("%s: the mode outlives its session", name)
		}
	}
}

// TestLateSession: a session that was asked for and arrives when the person has gone on does not come back.
func TestLateSession(t *testing.T) {
	for name, leave := range map[string]func(*model){
		"new session":     func(m *model) { beginSession(m) },
		"another session": func(m *model) { openSession(m, "ses_2") },
		"deleted":         closeSession,
	} {
		m := newTestModel(t, composer.DraftFile{})
		openSession(m, "ses_1")
		asked := m.visits
		leave(m)
		if m.Update(openedMsg{visit: asked, session: &session.Session{ID: "ses_1"}}); m.session != nil {
			t.Errorf("%s: %s is on the screen", name, m.session.ID)
		}
	}
	m := newTestModel(t, composer.DraftFile{})
	openSession(m, "ses_1")
	if m.Update(openedMsg{visit: m.visits, session: &session.Session{ID: "ses_1"}}); m.session == nil {
		t.Error("the session that was asked for last is not shown")
	}
}

// TestDirectoryOfSession: in a session of another directory files, commands and notes are those of there; the next new
// session is one of the interface's own directory again.
func TestDirectoryOfSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.api.Directory = "/src/project"
	m.Update(openedMsg{session: &session.Session{ID: "ses_2", Location: session.Location{Directory: "/src/other"}}})
	if m.api.Directory != "/src/other" || !strings.Contains(m.note, "this session works in") {
		t.Errorf("directory %q, note %q", m.api.Directory, m.note)
	}
	if beginSession(m); m.api.Directory != "/src/project" {
		t.Errorf("a new session is of %q", m.api.Directory)
	}
}

// TestFirstPrompts: prompts that are sent before the first one is answered begin one session.
func TestFirstPrompts(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	for _, text := range []string{"one", "two"} {
		sendPrompt(m, session.Prompt{Text: text}, false)
	}
	first := describeNewSession(m).ID
	if sendPrompt(m, session.Prompt{Text: "three"}, false); describeNewSession(m).ID != first || first == "" {
		t.Errorf("prompts are for the sessions %s and %s", first, describeNewSession(m).ID)
	}
	if beginSession(m); describeNewSession(m).ID == first {
		t.Error("a new session has the id of the one before")
	}
}
