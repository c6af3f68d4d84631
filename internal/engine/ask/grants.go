package ask

import (
	"context"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Limit names one limit of a budget. Asks carry it as their resource.
type Limit string

// The limits of a budget. Turns and wall-clock time count per input, the others per session. What descendants use
// counts as well.
const (
	LimitTurns  Limit = "turns"
	LimitCost   Limit = "usd"
	LimitTokens Limit = "tokens"
	LimitWall   Limit = "wall"
	// LimitPrice is asked for if a session has a limit in dollars and its model no known price.
	LimitPrice Limit = "price"
)

// Grants counts how often people extended each limit of a session's budget: since the budget was set, and since the
// newest input for the limits that count per input. It is a fold over the session's log that remembers its position,
// so that events are read once. The zero value is ready to use; it is not safe for concurrent use.
type Grants struct {
	next    int64 // seq of the first event that is not folded in
	count   map[Limit]int64
	pending map[session.AskID]Limit // asks that may still extend a limit
}

// read folds in the events since the last read.
func (g *Grants) read(ctx context.Context, s store.Store, id session.ID) error {
	return s.View(ctx, func(r store.Reader) error {
		events, err := eventlog.DecodeAll(r.Events(
			id, g.next-1, 0,
			session.KindBudgetSet, session.KindPrompted, session.KindPermissionAsked, session.KindPermissionReplied,
		))
		for _, e := range events {
			g.fold(e.Data)
			g.next = e.Seq + 1
		}
		return err
	})
}

func (g *Grants) fold(d session.EventData) {
	switch e := d.(type) {
	case *session.BudgetSet:
		g.count, g.pending = nil, nil
	case *session.Prompted:
		for _, limit := range []Limit{LimitTurns, LimitWall} {
			delete(g.count, limit)
			for id := range g.pending {
				if g.pending[id] == limit {
					delete(g.pending, id)
				}
			}
		}
	case *session.PermissionAsked:
		if e.Ask.Action == ActionBudget && len(e.Ask.Resources) == 1 {
			if g.pending == nil {
				g.count, g.pending = map[Limit]int64{}, map[session.AskID]Limit{}
			}
			g.pending[e.Ask.ID] = Limit(e.Ask.Resources[0])
		}
	case *session.PermissionReplied:
		limit := g.pending[e.AskID]
		if limit != "" && (e.Reply == session.ReplyOnce || e.Reply == session.ReplyAlways) {
			g.count[limit]++
		}
		delete(g.pending, e.AskID)
	}
}
