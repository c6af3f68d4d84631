package cli

import (
	"cmp"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/peer"
)

// nameModels prints one name per line, as OpenCode does.
func (a *app) nameModels(models []api.Model) {
	for _, m := range models {
		a.out.printf("%s\n", harmless(m.Ref().String()))
	}
}

// describeModels prints of each its name and all that is known of it, as OpenCode's model.
func (a *app) describeModels(ctx context.Context, c *api.Client, models []api.Model) error {
	var usable struct {
		Providers []struct {
			ID     string                    `json:"id"`
			Models map[string]jsontext.Value `json:"models"`
		} `json:"providers"`
	}
	if err := peerOf(c).Get(ctx, "/config/providers", nil, &usable); err != nil {
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
		if about, ok := known[name]; ok {
			a.out.printf("%s\n", harmless(name))
			if err := a.printJSON(about); err != nil {
				return err
			}
		}
	}
	return nil
}

// peerOf speaks OpenCode's contract with the same server.
func peerOf(c *api.Client) *peer.Client {
	return &peer.Client{HTTP: c.HTTP, Base: cmp.Or(c.Base, "http://localhost"), Auth: c.Auth, Directory: c.Directory}
}
