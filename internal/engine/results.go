package engine

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

const (
	resultPage   = 100  // messages read in one transaction
	resultWindow = 2000 // messages that are looked at
)

// results goes through the results of calls of the session, see tool.Call.
func (t *turn) results(ctx context.Context, visit func(name string, structured jsontext.Value) bool) error {
	before := int64(0)
	for range resultWindow / resultPage {
		var page []session.Message
		err := t.store.View(ctx, func(r store.Reader) (err error) {
			page, err = store.ReadMessages(r, t.id, store.MessageQuery{After: -1, Before: before, Newest: true, Limit: resultPage})
			return err
		})
		if errors.Is(err, store.ErrDamaged) {
			return nil // what is damaged says nothing
		}
		if err != nil {
			return err
		}
		for _, m := range page {
			before = m.Meta().Seq
			if a, ok := m.(*session.Assistant); ok && !visitResults(a, visit) {
				return nil
			}
		}
		if len(page) < resultPage {
			return nil
		}
	}
	return nil
}

// visitResults visits those of one message, the last call first, and reports whether more are wanted.
func visitResults(a *session.Assistant, visit func(name string, structured jsontext.Value) bool) bool {
	calls := a.Tools()
	for i := len(calls) - 1; i >= 0; i-- {
		if s := calls[i].State; s.Status == session.ToolCompleted && !visit(calls[i].Name, s.Structured) {
			return false
		}
	}
	return true
}
