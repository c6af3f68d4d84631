package tui

import (
	"context"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// leaveProgram quits, after asking what becomes of work that goes on.
func leaveProgram(m *model) tea.Cmd {
	if !m.editor.IsEmpty() && len(m.dialogs) == 0 && m.asks.dialog == nil {
		m.editor.DiscardText()
		m.attached = nil
		m.note = "press it again to leave; ctrl+_ brings the text back"
		return nil
	}
	if m.session == nil || !m.working {
		return tea.Quit
	}
	if m.options.Remote {
		m.openDialog(leaveChoice(m, 0))
		return nil
	}
	c := m.api
	var h api.Health
	return m.callAPI("leave", func(ctx context.Context) error {
		h, _ = c.Health(ctx) // a server that is gone does not keep anyone here
		return nil
	}, func() tea.Cmd {
		m.openDialog(leaveChoice(m, h.PID))
		return nil
	})
}

// leaveChoice asks what becomes of the work. pid is the process that does it, 0 on another machine.
func leaveChoice(m *model, pid int) *dialog.Choice {
	// The acts: quit with a reason, and interrupt before that.
	quit := func(l Leave) func() tea.Cmd {
		return func() tea.Cmd {
			m.leave, m.workerPID = l, pid
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
	// The first option is the same everywhere.
	d := &dialog.Choice{
		Title:   "The session is still working.",
		Options: []dialog.Reply{{Key: "s", Label: "stop the work and leave", Do: stop}},
	}
	stay := dialog.Reply{Key: "c", Label: "stay"}
	// The process that does the work decides what leaving means: this one cannot leave it running, a server or a
	// process of its own goes on.
	switch {
	case pid == os.Getpid():
		d.Text = []string{"This process does the work, so that it ends when cairn does. It can be continued later."}
		d.Options = append(d.Options, stay)
		return d
	case pid == 0:
		d.Text = []string{"The server does the work, and goes on without this process."}
	default:
		d.Text = []string{fmt.Sprintf("Process %d does the work. It goes on in the background, waits there for "+
			"your answers to permission requests, and can be stopped with: kill %d", pid, pid)}
	}
	d.Options = append(
		d.Options,
		dialog.Reply{Key: "b", Label: "leave, and let it work in the background", Do: quit(LeaveBackground)}, stay,
	)
	return d
}
