package cli

import (
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models"
)

// NoteSkippedHostedTools notes the configured tools of the vendor that the model was not given.
func (a *Invocation) NoteSkippedHostedTools(ctx context.Context, o client.Options, cfg *config.Config, model string) {
	model, _, _ = strings.Cut(model, "#")
	provider, id, _ := strings.Cut(model, "/")
	if cfg == nil || len(cfg.Provider[provider].Hosted)+len(cfg.Provider[provider].Models[id].Hosted) == 0 {
		return
	}
	known, err := a.Host.KnownModel(ctx, o, model)
	if err != nil { // it is another server's
		return
	}
	for _, why := range known.Dropped {
		if strings.HasPrefix(why, models.HostedDropped) {
			a.Note(why)
		}
	}
}
