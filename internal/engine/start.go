package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// The drain reads its session in few transactions: one when it starts, one at the boundary of each turn and another one
// if the boundary changed something, and one when no turn has to follow.

// drainStart is the state of the session when a drain starts.
type drainStart struct {
	next         session.Delivery // of the prompts that are promoted first
	history      *history.History
	orphanedJobs bool                       // jobs of an earlier process are recorded as running
	notes        bool                       // prompts without a reply are pending
	revert       *session.Revert            // that is staged, nil without one
	compacting   *session.CompactionStarted // that an earlier process left open, nil without one
}

// readStart reads what the drain starts from. Without force and with no pending prompt there is nothing to do, and the
// rest of the view is not read.
func (d *drain) readStart(ctx context.Context, mode drainMode) (*drainStart, error) {
	start := &drainStart{}
	err := d.viewSession(ctx, func(r store.Reader) (err error) {
		if err = findWork(d, r, start); err != nil || mode == drainPending && start.next == "" {
			return err
		}
		s, err := store.FindSession(r, d.id)
		if err != nil {
			return err
		}
		start.orphanedJobs, start.revert = d.engine.Jobs.HasOrphans(s.Jobs), s.Revert
		start.compacting = s.Compacting
		start.history, err = d.engine.histories.ReadHistory(r, s)
		return err
	})
	return start, err
}

// viewSession runs f in a read transaction. If it fails, the cached history may be half read and is dropped.
func (d *drain) viewSession(ctx context.Context, f func(store.Reader) error) error {
	err := d.engine.journal.Store.View(ctx, f)
	if err != nil {
		d.engine.histories.Delete(d.id)
		return fmt.Errorf("read session %s: %w", d.id, err)
	}
	return nil
}

// readEligible returns what may be promoted at a boundary that no turn has to follow, "" if nothing is.
func (d *drain) readEligible(ctx context.Context) (next session.Delivery, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	err = d.viewSession(ctx, func(r store.Reader) error {
		next, err = d.reader.findEligible(r)
		return err
	})
	return next, err
}

// findWork reads which pending prompts call for work when a drain starts: those without a reply do not.
func findWork(d *drain, r store.Reader, start *drainStart) (err error) {
	if start.next, err = d.reader.findEligible(r); err != nil || start.next != session.Steer {
		return err
	}
	// If the oldest steer needs no reply, look whether any other one does.
	first, err := store.PendingInputs(r, d.id, session.Steer, 1)
	if err != nil || len(first) == 0 || !first[0].NoReply {
		return err
	}
	start.notes = true
	steers, err := store.PendingInputs(r, d.id, session.Steer, 0)
	if err != nil || slices.ContainsFunc(steers, func(in *session.Input) bool { return !in.NoReply }) {
		return err
	}
	// All steers are notes: only a queued prompt calls for work.
	queued, err := store.PendingInputs(r, d.id, session.Queue, 1)
	start.next = ""
	if len(queued) > 0 {
		start.next = session.Queue
	}
	return err
}

// readHistory returns the session's history as it is now.
func (d *drain) readHistory(ctx context.Context) (h *history.History, err error) {
	err = d.viewSession(ctx, func(r store.Reader) error {
		s, err := store.FindSession(r, d.id)
		if err == nil {
			h, err = d.engine.histories.ReadHistory(r, s)
		}
		return err
	})
	return h, err
}

// readUnfinished returns the history and the pending prompts.
func (d *drain) readUnfinished(ctx context.Context) (h *history.History, pending []*session.Input, err error) {
	err = d.viewSession(ctx, func(r store.Reader) error {
		s, err := store.FindSession(r, d.id)
		if err == nil {
			h, err = d.engine.histories.ReadHistory(r, s)
		}
		if err == nil {
			pending, err = store.PendingInputs(r, d.id, "", 0)
		}
		return err
	})
	return h, pending, err
}
