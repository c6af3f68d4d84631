package engine

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	resultPage   = 100  // messages read in one transaction
	resultWindow = 2000 // messages searched
)

// visitResults visits the results of the session's successful calls, newest first, until visit returns false: see
// tool.Call. Damaged messages end it.
func (t *turn) visitResults(ctx context.Context, visit func(name string, structured jsontext.Value) bool) error {
	before := int64(0)
	// Read page by page: the visitor often stops early, and no transaction stays open while it runs.
	for range resultWindow / resultPage {
		var page []session.Message
		err := t.engine.journal.Store.View(ctx, func(r store.Reader) (err error) {
			query := store.MessageQuery{After: -1, Before: before, Newest: true, Limit: resultPage}
			page, err = store.ReadMessages(r, t.id, query)
			return err
		})
		if errors.Is(err, store.ErrDamaged) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, m := range page {
			before = m.Meta().Seq
			if a, ok := m.(*session.Assistant); ok && !visitCalls(a, visit) {
				return nil
			}
		}
		if len(page) < resultPage {
			return nil
		}
	}
	return nil
}

// visitCalls visits the results of one message, the last call first. It returns false once visit did.
func visitCalls(a *session.Assistant, visit func(name string, structured jsontext.Value) bool) bool {
	calls := a.Tools()
	for i := len(calls) - 1; i >= 0; i-- {
		if s := calls[i].State; s.Status == session.ToolCompleted && !visit(calls[i].Name, s.Structured) {
			return false
		}
	}
	return true
}
