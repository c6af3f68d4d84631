package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// promotion says what one transaction moves into the history.
type promotion struct {
	mode        session.Delivery // Queue: the oldest queued prompt, then the steers; Steer: the steers only
	first       *session.Epoch   // of a session without one; it begins even if no prompt is promoted
	titlePrompt bool             // name an unnamed session after its prompt
}

// promote moves the eligible prompts into the history, in one transaction, and returns how many. Prompts that are
// admitted meanwhile wait for the next boundary.
func (d *drain) promote(ctx context.Context, p promotion) (n int, err error) {
	_, err = d.engine.journal.Log.Append(ctx, d.id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		ins, err := d.listPromotable(tx, p.mode)
		if err != nil {
			return nil, err
		}
		n = len(ins)
		drafts := make([]eventlog.Draft, 0, len(ins)+2)
		for _, in := range ins {
			e := &session.Prompted{
				MessageID: in.ID, Prompt: in.Prompt, Delivery: in.Delivery, Asks: in.Asks, Recovery: in.Recovery,
			}
			e.Timestamp = in.TimeCreated
			drafts = append(drafts, eventlog.Draft{Data: e})
		}
		if p.titlePrompt {
			title, err := titleFromPrompts(tx, d.id, ins)
			if err != nil {
				return nil, err
			}
			drafts = append(drafts, title...)
		}
		if p.first != nil {
			if len(drafts) == 0 {
				drafts = eventlog.NewDrafts(&session.ContextBased{})
			}
			drafts[0].Private = &session.Private{Epoch: p.first}
		}
		return drafts, fault.Point(ctx, fault.PromotePreCommit)
	})
	if err != nil {
		return 0, err
	}
	return n, fault.Point(ctx, fault.PromotePostCommit)
}
