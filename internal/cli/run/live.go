package run

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// readProgress reads the output so far of running calls until ctx ends. It is
// only for display: progress that is lost with a connection is in the next one.
func readProgress(ctx context.Context, c *api.Client, to chan<- session.ToolProgress) {
	for ctx.Err() == nil {
		for u, err := range c.Feed(ctx, -1) {
			if err != nil {
				break
			}
			if u.Notice == nil || u.Notice.Kind != string(session.KindToolProgress) {
				continue
			}
			var p session.ToolProgress
			if json.Unmarshal(u.Notice.Data, &p) != nil {
				continue
			}
			select {
			case to <- p:
			case <-ctx.Done():
				return
			}
		}
		_ = follow.Sleep(ctx, time.Second) // the loop ends with ctx
	}
}
