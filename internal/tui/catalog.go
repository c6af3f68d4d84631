package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/api"
)

// The model that answers without any login.
const (
	guideProvider = "cairn"
	guideModel    = "guide"
)

// readCatalog reads what the pickers and the completion offer.
func readCatalog(m *model) tea.Cmd {
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg { return fetchCatalog(ctx, c) })
}

// fetchCatalog returns the models, agents and commands of the server; lists that cannot be read are empty.
func fetchCatalog(ctx context.Context, c *api.Client) catalogMsg {
	var out catalogMsg
	if x, err := c.Agents(ctx); err == nil {
		out.agents, out.project = x.Data, x.Location.Project.ID
	}
	if x, err := c.Commands(ctx); err == nil {
		out.commands = x.Data
	}
	if x, err := c.Models(ctx); err == nil {
		out.models = x.Data
	}
	return out
}

// hasOnlyGuide reports whether no model can be used but the built-in guide.
func (c *catalogMsg) hasOnlyGuide() bool {
	for _, x := range c.models {
		if x.ProviderID != guideProvider || x.ID != guideModel {
			return false
		}
	}
	return len(c.models) > 0
}
