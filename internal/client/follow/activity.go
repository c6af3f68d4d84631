package follow

import (
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Activity is what a session does.
type Activity string

// The activities.
const (
	Idle       Activity = "idle"
	Working    Activity = "working"
	Asking     Activity = "asking"     // it waits for a permission or an answer
	Unfinished Activity = "unfinished" // its process ended at work
)

// ReadActivities returns what the sessions do. One that ends its work meanwhile may be Working still.
func ReadActivities(ctx context.Context, c *api.Client, list []*session.Session) (map[session.ID]Activity, error) {
	active, err := c.Active(ctx)
	out := map[session.ID]Activity{}
	for _, s := range list {
		out[s.ID] = Idle
		switch active[s.ID].Type {
		case api.TypeUnfinished:
			out[s.ID] = Unfinished
		case api.TypeRunning:
			out[s.ID] = Working
			status, err := c.Status(ctx, s.ID)
			if err == nil && strings.HasPrefix(status.Type, "awaiting-") { // else the session ended meanwhile
				out[s.ID] = Asking
			}
		}
	}
	return out, err
}
