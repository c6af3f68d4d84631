package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// The names of the commands that go from a session to that of its subagent, and back.
const (
	enterSubagent = "subagent"
	leaveSubagent = "parent"
)

// openSubagent opens the session of the selected subagent, else of the newest that works, else of the newest.
func openSubagent(m *model) tea.Cmd {
	id := m.transcript.Subagent()
	if id == "" {
		m.note = "there is no call of a subagent; /tree shows all sessions that belong to this one"
		return nil
	}
	return openSession(m, id)
}

// openParent opens the session that the subagent on the screen works for.
func openParent(m *model) tea.Cmd {
	if !isSubagent(m.session) {
		m.note = "this is no session of a subagent; /tree shows the sessions that belong to it"
		return nil
	}
	return openSession(m, m.session.ParentID)
}

// isSubagent reports whether a call of another session has started the session; nil is no session.
func isSubagent(s *session.Session) bool { return s != nil && s.ParentID != "" && s.Fork == nil }

// parentTitle names the session of which the one on the screen is a subagent; "" for other sessions.
func (m *model) parentTitle() string {
	switch {
	case !isSubagent(m.session):
		return ""
	case m.parent == nil:
		return string(m.session.ParentID)
	case m.parent.IsUntitled():
		return "an untitled session"
	}
	return describe.SessionTitle(m.parent)
}

// subagentLines are the lines above the transcript of a subagent: that it is one, whose, and how to go back.
func (m *model) subagentLines() []string {
	title := m.parentTitle()
	if title == "" || m.height < 2*minHeight {
		return nil
	}
	text := "subagent " + terminal.FirstLine(m.session.Agent, 30) + " of " + title
	back := "/" + leaveSubagent
	if key := m.keys.keyOf(leaveSubagent); key != "" {
		back = key
	}
	return []string{m.theme.Heading.Render(dialog.Clip(back+": back  "+text, m.transcriptWidth()))}
}

// readTasks reads what the subagents that work had done when the session was opened.
func readTasks(m *model) tea.Cmd {
	var cmds []tea.Cmd
	c, t := m.api, m.transcript
	for _, id := range t.RunningSubagents() {
		cmds = append(cmds, m.run(func(ctx context.Context) tea.Msg {
			page, err := c.Messages(ctx, id, api.MessageQuery{Limit: pageSize})
			if err != nil { // it has not begun
				return nil
			}
			s, err := c.Session(ctx, id)
			if err != nil {
				return nil
			}
			return func() tea.Cmd { t.SeedTask(s, page.Data); return nil }
		}))
	}
	return tea.Batch(cmds...)
}
