package inspect

import (
	"context"
	"net/http"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/go-json-experiment/json/jsontext"
)

// printModelNames prints one name per line, as OpenCode does.
func (g modelCommands) printModelNames(models []api.Model) {
	for _, m := range models {
		g.inv.Out.Printf("%s\n", terminal.ReplaceControls(m.Ref().String()))
	}
}

// printVerboseModels prints the name of each model, and the model as OpenCode's V1 contract has it.
func (g modelCommands) printVerboseModels(ctx context.Context, c *api.Client, models []api.Model) error {
	var usable struct {
		Providers []struct {
			ID     string                    `json:"id"`
			Models map[string]jsontext.Value `json:"models"`
		} `json:"providers"`
	}
	if err := c.CallV1(ctx, http.MethodGet, "/config/providers", nil, &usable); err != nil {
		return err
	}
	known := map[string]jsontext.Value{}
	for _, p := range usable.Providers {
		for id, m := range p.Models {
			known[p.ID+"/"+id] = m
		}
	}
	for _, m := range models {
		name := m.Ref().String()
		if model, ok := known[name]; ok {
			g.inv.Out.Printf("%s\n", terminal.ReplaceControls(name))
			if err := g.inv.PrintJSON(model); err != nil {
				return err
			}
		}
	}
	return nil
}
