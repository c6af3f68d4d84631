package tui

import (
	"context"
	"net/http"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/tui/sidebar"
)

// hasSidebar reports whether the side bar is shown: it is switched on, and the screen is wide enough.
func (m *model) hasSidebar() bool {
	return m.sidebarOn && m.session != nil && m.width >= sidebar.ScreenWidth
}

// transcriptWidth returns the width that the side bar leaves for the transcript.
func (m *model) transcriptWidth() int {
	if m.hasSidebar() {
		return m.width - sidebar.Width - 1
	}
	return m.width
}

// joinSidebar puts the side bar beside the lines of the transcript, of which there are height.
func (m *model) joinSidebar(lines []string, height int) []string {
	if !m.hasSidebar() {
		return lines
	}
	bar := sidebar.Bar{
		Files: m.changes.Data, Unknown: len(m.changes.Unknown) > 0, Todos: m.session.Todos,
	}
	for i, right := range bar.RenderLines(m.theme, min(height, len(lines))) {
		pad := max(m.transcriptWidth()+1-ansi.StringWidth(lines[i]), 0)
		lines[i] += strings.Repeat(" ", pad) + right
	}
	return lines
}

// describeTodos says which todo is current where the side bar does not show them, "" if none is open.
func (m *model) describeTodos() string {
	if m.session == nil || m.hasSidebar() {
		return ""
	}
	text := describe.FormatTodoProgress(m.session.Todos)
	if key := m.keys.keyOf("todos"); text != "" && key != "" {
		text += "  " + key + ": all"
	}
	return text
}

func toggleSidebar(m *model) tea.Cmd {
	m.sidebarOn = !m.sidebarOn
	if m.sidebarOn && !m.hasSidebar() {
		m.note = "the side bar is shown in a session, from 120 columns on"
	}
	return readChanges(m)
}

// readChanges reads what the session changed in files, if the side bar shows it.
func readChanges(m *model) tea.Cmd {
	if !m.hasSidebar() {
		return nil
	}
	c, id := m.api, m.session.ID
	return m.run(func(ctx context.Context) tea.Msg {
		d, err := api.Reverts{Client: c}.ReadDiff(ctx, id, api.DiffSelection{})
		if err != nil {
			return nil
		}
		return diffMsg{id, d}
	})
}

// readBranch reads which branch is checked out. Without an answer it stays unknown.
func readBranch(m *model) tea.Cmd {
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		var out struct {
			Branch string `json:"branch"`
		}
		if err := c.CallV1(ctx, http.MethodGet, "/vcs", nil, &out); err != nil {
			return nil
		}
		return branchMsg{out.Branch}
	})
}
