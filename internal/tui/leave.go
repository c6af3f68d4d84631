package tui

import (
	"context"
	"os"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// leaveProgram quits, after asking what becomes of work that goes on.
func leaveProgram(m *model) tea.Cmd {
	if !m.editor.IsEmpty() && len(m.dialogs) == 0 && m.asks.dialog == nil {
		m.editor.Clear() // Ctrl-C first clears the prompt; undo brings it back
		m.note = "press ctrl+c again to leave"
		return nil
	}
	if m.session == nil || !m.working {
		return tea.Quit
	}
	if m.options.Remote {
		m.openDialog(leaveChoice(m, false))
		return nil
	}
	c, own := m.api, false
	return m.callAPI("leave", func(ctx context.Context) error {
		h, err := c.Health(ctx)
		own = err == nil && h.PID == os.Getpid()
		return nil
	}, func() tea.Cmd {
		m.openDialog(leaveChoice(m, own))
		return nil
	})
}

// leaveChoice asks what becomes of the work. own says that this process does it.
func leaveChoice(m *model, own bool) *dialog.Choice {
	quit := func(l Leave) func() tea.Cmd {
		return func() tea.Cmd {
			m.left = l
			return tea.Quit
		}
	}
	stop := func() tea.Cmd {
		c, id := m.api, m.session.ID
		return m.callAPI(
			"stop the work",
			func(ctx context.Context) error { return c.Interrupt(ctx, id) },
			quit(LeaveStopped),
		)
	}
	d := &dialog.Choice{
		Title:   "The session is still working.",
		Options: []dialog.Reply{{Key: "s", Label: "stop the work and leave", Do: stop}},
	}
	if own {
		d.Text = []string{"This process does the work, so that it ends when cairn does. It can be continued later."}
	} else {
		d.Text = []string{"Another process does the work, and goes on without this one."}
		d.Options = append(d.Options, dialog.Reply{Key: "b", Label: "leave and let it work", Do: quit(LeaveBackground)})
	}
	d.Options = append(d.Options, dialog.Reply{Key: "c", Label: "stay"})
	return d
}
