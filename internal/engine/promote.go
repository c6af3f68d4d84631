package engine

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// promotion says what one transaction moves into the history.
type promotion struct {
	next        session.Delivery // Queue: the oldest queued prompt, then the steers; Steer: the steers only
	first       *session.Epoch   // of a session without one; it begins even if no prompt is promoted
	titlePrompt bool             // name an unnamed session after its prompt
	sampled     *selection       // by the prompts that the boundary sampled; nil is any
}

// errSelectionChanged means that prompts were admitted, changed or withdrawn since the boundary was sampled, and that
// the turn would have another agent or model, or other rights. The boundary must be sampled again.
var errSelectionChanged = errors.New("the selection of the pending prompts changed")

// promote moves the eligible prompts into the history, in one transaction, and returns how many. Prompts that are
// admitted meanwhile wait for the next boundary.
func (d *drain) promote(ctx context.Context, p promotion) (n int, err error) {
	restricted := d.restricted
	_, err = d.engine.journal.Log.Append(ctx, d.id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		// Read the inbox again: it may have changed since the boundary was sampled.
		ins, _, err := d.reader.listPromotable(tx, p.next)
		if err != nil {
			return nil, err
		}
		if p.sampled != nil && *p.sampled != selectionOf(ins) {
			return nil, errSelectionChanged
		}
		// One event moves each prompt into the history.
		n, restricted = len(ins), d.restricted || selectionOf(ins).restricted
		drafts := make([]eventlog.Draft, 0, len(ins)+2)
		for _, in := range ins {
			fact := in.BuildPromotion()
			fact.Restricted = restricted
			drafts = append(drafts, eventlog.Draft{Data: fact})
		}
		// Name the session after its first prompt, where no model will.
		if p.titlePrompt {
			title, err := titleFromPrompts(tx, d.id, ins)
			if err != nil {
				return nil, err
			}
			drafts = append(drafts, title...)
		}
		// The first epoch commits with the first event, so that no prompt is promoted without a context.
		if p.first != nil {
			if len(drafts) == 0 {
				drafts = eventlog.NewDrafts(&session.ContextBased{})
			}
			drafts[0].Private = &session.Private{Epoch: p.first}
		}
		return drafts, fault.PassPoint(ctx, fault.PromotePreCommit)
	})
	if err != nil {
		return 0, err
	}
	d.restricted = restricted
	return n, fault.PassPoint(ctx, fault.PromotePostCommit)
}

// promoteNotes moves the pending prompts without a reply into the history. No turn answers them by itself.
func promoteNotes(ctx context.Context, d *drain) error {
	ctx = context.WithoutCancel(ctx)
	_, err := d.engine.journal.Log.Append(ctx, d.id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		ins, err := store.PendingInputs(tx, d.id, session.Steer, 0)
		var drafts []eventlog.Draft
		for _, in := range ins {
			if in.NoReply {
				fact := in.BuildPromotion()
				fact.NoReply = true
				drafts = append(drafts, eventlog.Draft{Data: fact})
			}
		}
		return drafts, err
	})
	return err
}
