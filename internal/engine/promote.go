package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// promote moves eligible prompts into the history, in one transaction, and reports how many. With Queue it is the
// oldest queued prompt, then the steers; with Steer the steers only. Prompts admitted while it runs wait one turn
// (spec/v2 AD-7, AD-10). A first context epoch begins in the same transaction, also when nothing is promoted.
func (d *drain) promote(ctx context.Context, mode session.Delivery, first *session.Epoch) (int, error) {
	var promoted int
	_, err := d.log.Append(ctx, d.id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		ins, err := d.chosen(tx, mode)
		if err != nil {
			return nil, err
		}
		promoted = len(ins)
		drafts := make([]eventlog.Draft, 0, len(ins)+2)
		for _, in := range ins {
			p := &session.Prompted{MessageID: in.ID, Prompt: in.Prompt, Delivery: in.Delivery, Asks: in.Asks}
			p.Timestamp = in.TimeCreated
			drafts = append(drafts, eventlog.Draft{Data: p})
		}
		if d.titler == nil {
			title, err := titled(tx, d.id, ins)
			if err != nil {
				return nil, err
			}
			drafts = append(drafts, title...)
		}
		if first != nil {
			if len(drafts) == 0 {
				drafts = eventlog.Drafts(&session.ContextBased{})
			}
			drafts[0].Private = &session.Private{Epoch: first}
		}
		return drafts, fault.Point(ctx, fault.PromotePreCommit)
	})
	if err != nil {
		return 0, err
	}
	return promoted, fault.Point(ctx, fault.PromotePostCommit)
}

func (d *drain) chosen(tx store.Reader, mode session.Delivery) (ins []*session.Input, err error) {
	if mode == "" {
		return nil, nil
	}
	if mode == session.Queue {
		if ins, err = store.PendingInputs(tx, d.id, session.Queue, 1); err != nil {
			return nil, err
		}
	}
	steers, err := store.PendingInputs(tx, d.id, session.Steer, d.limits.SteerBatch)
	return append(ins, steers...), err
}
