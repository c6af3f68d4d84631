package run

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/client/follow"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// showNextAsk shows the next ask after an answer was delivered or failed. It first removes the session's asks that the
// same answer settled; if the pending asks cannot be read, it removes none.
func showNextAsk(ctx context.Context, c *api.Client, q *AskQueue, sent follow.Answer) {
	var waits []session.PendingAsk
	var err error
	if len(q.Pending) > 0 {
		waits, err = follow.PendingAsks(ctx, c, sent.Ask.SessionID)
	}
	q.ShowNext(func(a session.PendingAsk) bool {
		return err == nil && a.SessionID == sent.Ask.SessionID &&
			!slices.ContainsFunc(waits, func(w session.PendingAsk) bool { return w.ID == a.ID })
	})
}
