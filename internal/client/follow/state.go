package follow

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// State is where a session is when it begins to be followed.
type State struct {
	Head   int64           // seq of the newest event, read first: the events behind it are to be followed
	Newest session.Message // nil without any
	Asks   []session.PendingAsk
}

// ReadState reads the state of a session.
func ReadState(ctx context.Context, c *api.Client, id session.ID) (s State, err error) {
	if s.Head, err = c.Head(ctx, id); err != nil {
		return s, err
	}
	page, err := c.Messages(ctx, id, api.MessageQuery{Limit: 1})
	if err != nil {
		return s, err
	}
	for _, m := range page.Data {
		s.Newest = m
	}
	s.Asks, err = PendingAsks(ctx, c, id)
	return s, err
}
