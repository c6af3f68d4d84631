package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/feed"
)

// TestSubagentAtWork: below the call of a subagent that works is what it has done and does; one that has ended has none.
func TestSubagentAtWork(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	turn, child := session.OfTurn("msg_t"), session.TaskID("prt_t")
	task := func(d session.EventData) {
		m.Update(feed.Updates{ID: "ses_1", List: []follow.Update{{Task: &follow.TaskEvent{SessionID: child, Data: d}}}})
		m.transcript.SetTime(m.now)
	}
	m.Update(updateOf(&session.StepStarted{TurnFact: turn}))
	m.Update(updateOf(&session.ToolInputStarted{TurnFact: turn, PartID: "prt_t", Name: "task"}))
	m.Update(updateOf(&session.ToolCalled{
		TurnFact: turn, PartID: "prt_t", Tool: "task",
		Input: jsontext.Value(`{"description":"Check the tests","subagent_type":"general"}`),
	}))
	frame := func() string { s, _ := m.renderFrame(); return ansi.Strip(s) }
	call := session.ToolCalled{PartID: "prt_1", Tool: "read", Input: jsontext.Value(`{"filePath":"a.go"}`)}
	task(&call)
	task(&session.ToolSuccess{PartID: "prt_1"})
	task(&session.StepEnded{Cost: session.Dollar / 50, Tokens: session.Tokens{Input: 7}})
	next := session.ToolCalled{PartID: "prt_2", Tool: "bash", Input: jsontext.Value(`{"command":"make test"}`)}
	task(&next)
	if got := frame(); !strings.Contains(got, "\n  2 calls · $0.0200 · bash make test") {
		t.Errorf("at work:\n%s", got)
	}
	if got := m.transcript.Subagent(); got != child {
		t.Errorf("the subagent is %q, want %q", got, child)
	}
	m.Update(updateOf(&session.ToolSuccess{TurnFact: turn, PartID: "prt_t"}))
	if got := frame(); strings.Contains(got, "2 calls") {
		t.Errorf("ended:\n%s", got)
	}
}

// TestSubagentScreen: the session of a subagent says at its top and in the status line that it is one, and whose.
func TestSubagentScreen(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.Update(openedMsg{
		session: &session.Session{ID: "ses_2", ParentID: "ses_1", Title: "Check the tests", Agent: "general"},
		parent:  &session.Session{ID: "ses_1", Title: "Replace foo by bar"},
		status:  api.Status{Type: api.StatusIdle},
	})
	frame, _ := m.renderFrame()
	lines := strings.Split(ansi.Strip(frame), "\n")
	if want := "f4: back  subagent general of Replace foo by bar"; lines[0] != want || len(lines) != 24 {
		t.Errorf("%d lines, the first one %q, want %q", len(lines), lines[0], want)
	}
	if got := lines[len(lines)-1]; !strings.HasPrefix(got, "ready · subagent of Replace foo by bar · general") {
		t.Errorf("status line %q", got)
	}
	openTestSession(m)
	if frame, _ := m.renderFrame(); strings.Contains(frame, "subagent") {
		t.Errorf("no subagent:\n%s", frame)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyF4})
	if !strings.Contains(m.note, "no session of a subagent") {
		t.Errorf("note %q", m.note)
	}
}
