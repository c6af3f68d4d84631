package tui

import (
	"context"
	"strconv"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// previewShare shows what sharing the session replaces, and asks whether to share it. If the session is shared already, it
// shows the address and offers to revoke the share.
func previewShare(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	if m.session.Share != nil {
		m.openDialog(&dialog.Choice{
			Title: "The session is shared", Text: []string{terminal.FirstLine(m.session.Share.URL, 300)}, Type: m.typeText,
			Options: []dialog.Reply{
				{Key: "r", Label: "revoke the share", Do: func() tea.Cmd { return revokeShare(m) }},
				{Key: "n", Label: "keep it shared"},
			},
		})
		return nil
	}
	s := *m.session // events change the model's
	c := m.api
	var found []api.Replacement
	m.note = "looking for secrets"
	return m.callAPI("share", func(ctx context.Context) (err error) {
		var known []string
		if m.options.Secrets != nil {
			if known, err = m.options.Secrets(ctx); err != nil {
				return err
			}
		}
		found, err = transfer.PreviewShare(ctx, c, s.ID, known)
		return err
	}, func() tea.Cmd {
		m.note = ""
		if !m.hasSession() || m.session.ID != s.ID { // another one is open by now
			return nil
		}
		text := []string{"Anyone with the address can read prompts, answers, output and paths, including later ones."}
		for _, r := range found {
			text = append(text, r.Kind+": "+terminal.FormatPlural(r.Count, "text")+", replaced; the first one: "+
				terminal.FirstLine(r.Excerpt, 100))
		}
		m.openDialog(&dialog.Choice{
			Title: "Share " + strconv.Quote(terminal.FirstLine(describe.SessionTitle(&s), 60)) + "?", Text: text, Type: m.typeText, At: 1,
			Options: []dialog.Reply{
				{Key: "y", Label: "share it", Do: func() tea.Cmd { return shareSession(m, s.ID) }},
				{Key: "n", Label: "do not share it"},
			},
		})
		return nil
	})
}

func shareSession(m *model, id session.ID) tea.Cmd {
	c := m.api
	var out api.Share
	return m.callAPI("share", func(ctx context.Context) (err error) {
		out, err = c.ShareSession(ctx, id, api.ShareRequest{})
		return err
	}, func() tea.Cmd {
		m.note = "shared at " + terminal.FirstLine(out.URL, 300)
		if out.Target == "" {
			m.note += " (cairn share serve)"
		}
		return tea.Raw(ansi.SetSystemClipboard(out.URL))
	})
}

func revokeShare(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, id := m.api, m.session.ID
	var result api.Revocation
	return m.callAPI("unshare", func(ctx context.Context) (err error) {
		result, err = c.RevokeShare(ctx, id)
		return err
	}, func() tea.Cmd {
		m.note = "the share is revoked"
		if !result.Revoked {
			m.note = "the revocation is not complete: " + terminal.FirstLine(result.Failure, 200) + "; cairn retries for 30 days"
		}
		return nil
	})
}
