package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
)

// offerImport says how the sessions of other programs come in, if there are some and cairn has none yet.
func offerImport(m *model) tea.Cmd {
	find := m.options.FindForeign
	if find == nil {
		return nil
	}
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		page, err := c.Sessions(ctx, api.SessionQuery{Archived: true, Limit: 1})
		if err != nil || len(page.Data) > 0 {
			return nil
		}
		programs := find()
		if len(programs) == 0 {
			return nil
		}
		return func() tea.Cmd {
			m.note = "sessions of " + strings.Join(programs, ", ") + " are on this machine; cairn import --from " + programs[0] +
				" brings them in, and --dry-run shows them first"
			return nil
		}
	})
}
