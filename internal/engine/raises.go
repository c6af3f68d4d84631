package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// raises counts how often each limit was raised by a yes: since the budget was set, and since the newest input for the
// limits that count per input. It is a fold over the log that keeps its place, so that a long session is read once.
type raises struct {
	next  int64 // seq of the first event that is not in it
	times map[string]int64
	asked map[session.AskID]string // the limits that may still be raised
}

// read enters what was appended since it was last read.
func (c *raises) read(ctx context.Context, s store.Store, id session.ID) error {
	return s.View(ctx, func(r store.Reader) error {
		rows, err := r.Events(id, c.next-1, 0, session.KindBudgetSet, session.KindPrompted, session.KindPermissionAsked, session.KindPermissionReplied)
		for _, row := range rows {
			e, err := eventlog.Decode(row)
			if err != nil {
				return err
			}
			c.apply(e.Data)
			c.next = row.Seq + 1
		}
		return err
	})
}

func (c *raises) apply(d session.EventData) {
	switch e := d.(type) {
	case *session.BudgetSet:
		c.times, c.asked = nil, nil
	case *session.Prompted:
		for _, kind := range []string{"turns", "wall"} {
			delete(c.times, kind)
			for id := range c.asked {
				if c.asked[id] == kind {
					delete(c.asked, id)
				}
			}
		}
	case *session.PermissionAsked:
		if e.Ask.Action == actionBudget && len(e.Ask.Resources) == 1 {
			if c.asked == nil {
				c.times, c.asked = map[string]int64{}, map[session.AskID]string{}
			}
			c.asked[e.Ask.ID] = e.Ask.Resources[0]
		}
	case *session.PermissionReplied:
		if kind := c.asked[e.AskID]; kind != "" && (e.Reply == session.ReplyOnce || e.Reply == session.ReplyAlways) {
			c.times[kind]++
		}
		delete(c.asked, e.AskID)
	}
}
