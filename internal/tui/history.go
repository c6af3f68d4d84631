package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// readOlder reads the page of messages before the first one if that is on the screen.
func readOlder(m *model) tea.Cmd {
	if !m.transcript.AtTop() {
		return nil
	}
	return readOlderPage(m)
}

// readOlderPage reads the page of messages before the first one.
func readOlderPage(m *model) tea.Cmd {
	if m.session == nil || m.olderCursor.Next == "" || m.loadingOlder {
		return nil
	}
	m.loadingOlder = true
	c, id, cursor := m.api, m.session.ID, m.olderCursor.Next
	return m.run(func(ctx context.Context) tea.Msg {
		page, err := c.Messages(ctx, id, api.MessageQuery{Limit: pageSize, Cursor: cursor})
		return olderMsg{id, cursor, page, err}
	})
}

func showOlder(m *model, o olderMsg) tea.Cmd {
	m.loadingOlder = false
	// A page of another session, or of this one before it was opened again, does not belong here. A search in the open
	// session waits for its own page.
	if m.session == nil || o.id != m.session.ID || o.cursor != m.olderCursor.Next {
		return m.continueSeek()
	}
	if o.err != nil {
		m.seek = nil
		m.showError("read earlier messages", o.err)
		return nil
	}
	m.olderCursor = o.page.Cursor
	if len(o.page.Data) < pageSize {
		m.olderCursor.Next = ""
	}
	slices.Reverse(o.page.Data)
	m.transcript.Prepend(o.page.Data)
	return m.continueSeek()
}

// continueSeek goes on with the search that waits for earlier messages, if there is one.
func (m *model) continueSeek() tea.Cmd {
	if m.seek == nil {
		return nil
	}
	return m.seek()
}

// searchTranscript finds text in the transcript.
func searchTranscript(m *model) tea.Cmd {
	m.openDialog(dialog.NewSearchInput("Find in the transcript", m.lastSearch, func(text string) tea.Cmd {
		m.lastSearch = text
		return findText(m, text)
	}))
	return nil
}

// findText selects the next section above the selection that contains the text. Without one it reads
// earlier messages first.
func findText(m *model, text string) tea.Cmd {
	m.seek = nil
	if text == "" {
		return nil
	}
	if !m.transcript.SelectHit(text, m.olderCursor.Next == "") && m.olderCursor.Next != "" {
		m.seek, m.note = func() tea.Cmd { return findText(m, text) }, "searching earlier messages"
		return readOlderPage(m)
	}
	if n := m.transcript.Search(text); n > 0 {
		m.note = terminal.FormatPlural(n, "hit") + "; search again for the next one"
	} else {
		m.note = "nothing found"
	}
	return nil
}
