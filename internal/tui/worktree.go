package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// enterWorktree begins a session in a git worktree of its own.
func enterWorktree(m *model) tea.Cmd { return enterWorktreeNamed(m, "") }

// enterWorktreeNamed makes and prepares a git worktree, and begins a session in it. "" chooses a name.
func enterWorktreeNamed(m *model, name string) tea.Cmd {
	c, visit := m.api, m.visits
	fresh := api.CreateSession{
		ID: session.ID(m.ids.New(session.PrefixSession)), Sandbox: m.options.Sandbox,
	}
	m.note = "making a worktree…"
	return m.wait(func(ctx context.Context) tea.Msg {
		made, err := api.Worktrees{Client: c}.Create(ctx, api.NewWorktree{Name: name, Prepare: true})
		if err == nil {
			fresh.Location = &session.Location{Directory: made.Directory}
			_, err = c.Create(ctx, fresh)
		}
		return func() tea.Cmd {
			if err != nil {
				m.showError("worktree", err)
				return nil
			}
			m.note = "a session in the worktree " + terminal.FirstLine(made.Directory, 200)
			if made.Problem != "" {
				m.note = "the worktree could not be prepared (cairn worktree prepare " + terminal.FirstLine(made.Name, 64) +
					" does that again): " + terminal.FirstLine(made.Problem, 300)
			}
			if m.visits != visit { // the person has gone on
				return nil
			}
			return openSession(m, fresh.ID)
		}
	})
}
