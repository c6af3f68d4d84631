package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// readOlder reads the page of messages before the first one if that is on the screen.
func readOlder(m *model) tea.Cmd {
	if !m.transcript.AtTop() {
		return nil
	}
	return readPage(m)
}

// readPage reads the page of messages before the first one.
func readPage(m *model) tea.Cmd {
	if m.session == nil || m.older.Next == "" || m.loading {
		return nil
	}
	m.loading = true
	c, id, cursor := m.api, m.session.ID, m.older.Next
	return m.run(func(ctx context.Context) tea.Msg {
		page, err := c.Messages(ctx, id, api.MessageQuery{Limit: pageSize, Cursor: cursor})
		return olderMsg{id, page, err}
	})
}

func showOlder(m *model, o olderMsg) tea.Cmd {
	m.loading = false
	if m.session == nil || o.id != m.session.ID {
		return nil
	}
	if o.err != nil {
		m.showError("read earlier messages", o.err)
		return nil
	}
	m.older = o.page.Cursor
	if len(o.page.Data) < pageSize {
		m.older.Next = ""
	}
	slices.Reverse(o.page.Data)
	m.transcript.Prepend(o.page.Data)
	return findText(m, m.seeking)
}

// searchTranscript finds text in the transcript.
func searchTranscript(m *model) tea.Cmd {
	m.openDialog(dialog.NewLineInput("Search in the transcript", m.searching, func(text string) tea.Cmd {
		m.searching = text
		return findText(m, text)
	}))
	return nil
}

// findText selects the next section above the selection that contains the text. Without one it reads
// earlier messages first.
func findText(m *model, text string) tea.Cmd {
	m.seeking = ""
	if text == "" {
		return nil
	}
	if !m.transcript.SelectHit(text, m.older.Next == "") && m.older.Next != "" {
		m.seeking, m.note = text, "searching earlier messages"
		return readPage(m)
	}
	m.note = term.FormatPlural(m.transcript.Search(text), "hit") + "; search again for the next one"
	return nil
}
