package tui

import (
	"context"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// pickInbox shows the prompts that wait. Enter takes one back into the composer.
func pickInbox(m *model) tea.Cmd {
	if m.session == nil || len(m.inbox) == 0 {
		m.note = "no prompt waits"
		return nil
	}
	showInbox(m, "")
	return nil
}

// showInbox shows the prompts with one selected.
func showInbox(m *model, selected string) {
	p := &dialog.Picker{
		Title: "Prompts that wait", Enter: "take back into the composer",
		Hint: "ctrl+r: edit  ctrl+up ctrl+down: move  ctrl+t: steer or queue  ctrl+d: withdraw",
	}
	p.Items = inboxItems(m)
	with := func(f func(*session.Input) tea.Cmd) func(dialog.Entry) tea.Cmd {
		return func(it dialog.Entry) tea.Cmd {
			i := slices.IndexFunc(m.inbox, func(in *session.Input) bool { return string(in.ID) == it.ID })
			if i < 0 {
				m.note = "this prompt waits no longer"
				return nil
			}
			return f(m.inbox[i])
		}
	}
	p.Pick = with(func(in *session.Input) tea.Cmd { return withdrawPrompt(m, in, true) })
	closing := func(f func(*session.Input) tea.Cmd) dialog.Action { return dialog.Action{Do: with(f), Closes: true} }
	p.Actions = map[string]dialog.Action{
		"ctrl+r":    closing(func(in *session.Input) tea.Cmd { return editInput(m, in) }),
		"ctrl+t":    closing(func(in *session.Input) tea.Cmd { return redirectInput(m, in) }),
		"ctrl+d":    {Do: with(func(in *session.Input) tea.Cmd { return withdrawPrompt(m, in, false) })},
		"ctrl+up":   closing(func(in *session.Input) tea.Cmd { return moveInput(m, in, -1) }),
		"ctrl+down": closing(func(in *session.Input) tea.Cmd { return moveInput(m, in, 1) }),
	}
	p.Select(selected)
	m.inboxPicker = p
	m.openDialog(p)
}

// withdrawPrompt takes a pending prompt back: into the composer if edit is set, else into the history, from which Up
// recalls it. The list closes with its last prompt.
func withdrawPrompt(m *model, in *session.Input, edit bool) tea.Cmd {
	c, id := m.api, m.session.ID
	return m.callAPI("withdraw the prompt", func(ctx context.Context) error {
		return c.Inbox().Withdraw(ctx, id, in.ID)
	}, func() tea.Cmd {
		dropInput(m, in.ID)
		if len(m.inbox) == 0 && m.inboxPicker != nil {
			m.closeDialog(m.inboxPicker)
		}
		switch {
		case edit:
			p := in.Prompt
			p.Text = in.Text()
			m.returnPrompt(p)
		case in.Compaction == nil:
			m.history.Add(in.Text())
			m.note = "withdrawn; up recalls it"
		}
		return nil
	})
}

// editInput changes the text of a pending prompt where it is. A text that is refused, such as that of a prompt which
// has begun, is in the composer.
func editInput(m *model, in *session.Input) tea.Cmd {
	if in.Compaction != nil {
		return nil
	}
	c, id, prompt := m.api, m.session.ID, in.Prompt
	m.openDialog(dialog.NewLineInput("Edit the prompt", prompt.Text, func(text string) tea.Cmd {
		prompt.Text, prompt.Parts = text, nil
		return m.run(func(ctx context.Context) tea.Msg {
			err := c.Inbox().Edit(ctx, id, in.ID, prompt)
			return func() tea.Cmd { m.returnUnsent(text, err); return readInbox(m) }
		})
	}))
	return nil
}

// redirectInput switches a pending prompt between steer and queue.
func redirectInput(m *model, in *session.Input) tea.Cmd {
	to := session.Steer
	if in.Delivery == session.Steer {
		to = session.Queue
	}
	c, id := m.api, m.session.ID
	return m.callAPI("redirect the prompt", func(ctx context.Context) error {
		return c.Inbox().Redirect(ctx, id, in.ID, to)
	}, func() tea.Cmd { return readInbox(m) })
}

// moveInput moves a pending prompt among the others.
func moveInput(m *model, in *session.Input, by int) tea.Cmd {
	var ids []session.MessageID
	for _, o := range m.inbox {
		ids = append(ids, o.ID)
	}
	i := slices.Index(ids, in.ID)
	if i < 0 || i+by < 0 || i+by >= len(ids) {
		showInbox(m, string(in.ID))
		return nil
	}
	ids[i], ids[i+by] = ids[i+by], ids[i]
	c, id := m.api, m.session.ID
	return m.callAPI("reorder the prompts", func(ctx context.Context) error {
		return c.Inbox().Reorder(ctx, id, ids)
	}, func() tea.Cmd {
		slices.SortStableFunc(m.inbox, func(a, b *session.Input) int {
			return slices.Index(ids, a.ID) - slices.Index(ids, b.ID)
		})
		showInbox(m, string(in.ID))
		return readInbox(m)
	})
}

// sendWaiting sends the prompts that wait in an idle session, as the note about them says.
func sendWaiting(m *model) tea.Cmd {
	if m.session == nil || m.working || len(m.inbox) == 0 {
		return nil
	}
	c, id := m.api, m.session.ID
	m.watch.expectIdle()
	return tea.Batch(beginWork(m), m.wait(func(ctx context.Context) tea.Msg { // answered when the work is done
		err := c.Resume(ctx, id)
		return func() tea.Cmd {
			if err != nil {
				m.showError("send the waiting prompts", err)
			}
			return readInbox(m)
		}
	}))
}

// describeWaiting says that prompts wait in an idle session.
func describeWaiting(n int) string {
	if n == 1 {
		return "1 prompt waits; Enter sends it, /inbox changes it"
	}
	return strconv.Itoa(n) + " prompts wait; Enter sends them, /inbox changes them"
}
