package transcript

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Bounds of what is kept about subagents.
const (
	maxTasks   = 1000 // subagents
	maxCurrent = 100  // calls of one that run
)

// taskWork is what a subagent, with its own subagents, has done so far.
type taskWork struct {
	calls   int
	cost    session.USD
	tokens  session.Tokens
	current []currentCall
}

// currentCall is a call of a subagent that runs.
type currentCall struct {
	part session.PartID
	what string
}

// ShowTask notes an event of the session of a subagent. The line of the subagent is rendered again with the next
// second.
func (m *Model) ShowTask(id session.ID, d session.EventData) {
	w := m.taskOf(id)
	if w == nil {
		return
	}
	switch d := d.(type) {
	case *session.ToolCalled:
		w.calls++
		if len(w.current) < maxCurrent {
			w.current = append(w.current, currentCall{d.PartID, describe.DescribeCall(d.Tool, d.Input)})
		}
		if child := follow.TaskSession(d); child != "" && len(m.tasks) < maxTasks {
			m.tasks[child] = w
		}
	case *session.ToolSuccess:
		w.endCall(d.PartID)
	case *session.ToolFailed:
		w.endCall(d.PartID)
	case *session.StepEnded:
		w.cost, w.tokens = w.cost+d.Cost, w.tokens.Add(d.Tokens)
	}
}

// SeedTask notes what a subagent had done when its parent was opened: its newest messages and its session.
func (m *Model) SeedTask(s *session.Session, newest []session.Message) {
	w, calls := m.taskOf(s.ID), 0
	if w == nil {
		return
	}
	for _, x := range newest {
		if a, ok := x.(*session.Assistant); ok {
			calls += len(a.Tools())
		}
	}
	if calls > w.calls {
		w.calls, w.cost, w.tokens = calls, s.Cost, s.Tokens
	}
}

// taskOf returns the work of a subagent, nil if there are too many.
func (m *Model) taskOf(id session.ID) *taskWork {
	if m.tasks[id] == nil && len(m.tasks) < maxTasks {
		m.tasks[id] = &taskWork{}
	}
	return m.tasks[id]
}

func (w *taskWork) endCall(part session.PartID) {
	w.current = slices.DeleteFunc(w.current, func(c currentCall) bool { return c.part == part })
}

// describe returns the line of the subagent: how many calls it has made, what they cost, and its newest running call.
func (w *taskWork) describe() string {
	parts := []string{terminal.FormatPlural(w.calls, "call")}
	if w.tokens.Sum() > 0 {
		parts = append(parts, describe.FormatCost(w.cost, w.tokens))
	}
	if n := len(w.current); n > 0 {
		parts = append(parts, w.current[n-1].what)
	}
	return strings.Join(parts, " · ")
}

// sessionOfTask returns the session in which the call hands work to a subagent, "" for other calls.
func sessionOfTask(t *session.Tool) session.ID {
	return follow.TaskSession(&session.ToolCalled{PartID: t.PartID, Tool: t.Name, Input: t.State.Input})
}

// renderTask returns the line of a subagent that works, none for other calls.
func (p painter) renderTask(t *session.Tool) []string {
	w := p.tasks[sessionOfTask(t)]
	if w == nil || t.State.Status != session.ToolRunning {
		return nil
	}
	return []string{"  " + p.theme.Muted.Render(ansi.Truncate(w.describe(), max(p.width-2, 1), "…"))}
}

// Subagent returns the session of the selected call of a subagent; without one, of the newest that runs, else of the
// newest; "" without a subagent.
func (m *Model) Subagent() (id session.ID) {
	if m.selected != nil {
		if t, ok := m.selected.item.(*session.Tool); ok {
			return sessionOfTask(t)
		}
	}
	for _, b := range slices.Backward(m.sections) {
		t, ok := b.item.(*session.Tool)
		if !ok || sessionOfTask(t) == "" {
			continue
		}
		if !b.isSettled() {
			return sessionOfTask(t)
		}
		if id == "" {
			id = sessionOfTask(t)
		}
	}
	return id
}

// RunningSubagents returns the sessions of the subagents that calls wait for.
func (m *Model) RunningSubagents() (ids []session.ID) {
	for _, b := range m.sections[max(len(m.sections)-maxRunning, 0):] {
		if t, ok := b.item.(*session.Tool); ok && t.State.Status == session.ToolRunning && sessionOfTask(t) != "" {
			ids = append(ids, sessionOfTask(t))
		}
	}
	return ids
}
