package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// drain runs one drain for the coordinator: it waits for a slot, then works until nothing is left to do.
func (e *Engine) drain(ctx context.Context, id session.ID, mode drainMode) error {
	d := newDrain(e, id)
	d.slot.Pool = e.sessionSlots
	if err := d.slot.Acquire(ctx, d.reportQueued); err != nil {
		return d.exit(ctx, context.Cause(ctx))
	}
	defer d.slot.Release()
	defer e.Asks.EndWork(id)
	err := d.runWithStoreRetry(ctx, mode)
	if err != nil { // prompts without a reply may be left; they join the history as they would between two turns
		_ = promoteNotes(ctx, d)
	}
	if err != nil && !errors.Is(err, turnlog.ErrDeclined) && context.Cause(ctx) == nil {
		e.logger.Warn("drain failed", "session", id, "error", err)
	}
	return err
}

// run settles what was left open, then promotes prompts and takes turns until nothing is left to do. With drainRepair
// it stops there.
func (d *drain) run(ctx context.Context, mode drainMode) error {
	// Read what there is to do. Prompts that need no reply join the history first: no turn answers them.
	start, err := d.readStart(context.WithoutCancel(ctx), mode)
	if err == nil && start.notes && start.next != session.Steer {
		if err = promoteNotes(ctx, d); err == nil {
			start, err = d.readStart(context.WithoutCancel(ctx), mode)
		}
	}
	if err != nil || (mode == drainPending && start.next == "") {
		return err
	}
	// Commit a staged revert first: the work that follows no longer sees what it takes back.
	if start.revert != nil {
		if err := d.settleRevert(ctx, start, mode); err != nil {
			return d.exit(ctx, err)
		}
		if start, err = d.readStart(context.WithoutCancel(ctx), mode); err != nil {
			return d.exit(ctx, err)
		}
	}
	// End what an earlier process left open.
	d.engine.statuses.Set(d.id, Status{Type: StatusBusy})
	if mode == drainRepair {
		d.keepAsks = true
		_, err := d.closeOpen(ctx, start, start.history.OpenTurns())
		return err
	}
	recovers := mode == drainRestart
	if mode, err = d.recoverSession(ctx, mode, start); err != nil {
		return d.exit(ctx, err)
	}
	// Take turns: first for work that has begun, then for the pending prompts.
	next, left := start.next, mode == drainRestart || !recovers && start.history.NeedsTurn()
	if left {
		next = session.Steer // work that has begun comes before queued prompts
	}
	defer func() { _ = d.engine.changes.AwaitSession(ctx, d.id) }() // clients see what changed before the session is idle
	for left || mode != drainPending || next != "" {
		if next, err = d.takeTurns(ctx, next, left); err != nil {
			return d.exit(ctx, err)
		}
		mode, left = drainPending, false
	}
	// Summarise in the background; nothing waits for that.
	if d.summarize {
		d.engine.startSummary(d.id)
	}
	return nil
}

// takeTurns takes turns until the model is done and no steer waits. left reports that it continues the work of an
// earlier drain. It returns what is promoted next.
func (d *drain) takeTurns(
	ctx context.Context, next session.Delivery, left bool,
) (then session.Delivery, err error) {
	defer func() { d.endWork(ctx, then, err) }()
	d.worked, d.step, d.retries = true, 1, turnlog.RetryState{}
	// Count what earlier drains did of the same work, so that a restart grants no more steps and attempts.
	if left {
		if err := d.restoreWork(ctx); err != nil {
			return "", err
		}
	}
	// Go on while the model must see more, then while steers wait.
	for {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		d.engine.coordinator.serveBoundary(d.id)
		more, err := d.takeTurn(ctx, next)
		if errors.Is(err, errSelectionChanged) {
			continue
		}
		if err != nil {
			return "", err
		}
		next = session.Steer
		if more {
			continue
		}
		if next, err = d.readEligible(ctx); err != nil {
			return "", err
		}
		if next == session.Steer {
			continue
		}
		// The work ends here, unless an extension has it go on.
		goesOn, err := d.showStop(ctx)
		if err != nil || !goesOn {
			return next, err
		}
		next = session.Steer
	}
}

// exit ends the drain with err. If the user stopped work that would otherwise continue by itself, and no turn records
// that, it records it.
func (d *drain) exit(ctx context.Context, err error) error {
	if !errors.Is(context.Cause(ctx), turnlog.ErrInterrupted) {
		return err
	}
	// Only an interrupt is recorded here: after a shutdown or a failure the next drain resumes the work.
	clean := context.WithoutCancel(ctx)
	start, readErr := d.readStart(clean, drainForced)
	if readErr != nil {
		return readErr
	}
	// Close what is open, then look whether the work would continue by itself.
	if _, rerr := d.recoverSession(ctx, drainPending, start); rerr != nil && !errors.Is(rerr, turnlog.ErrInterrupted) {
		return rerr
	}
	h, pending, readErr := d.readUnfinished(clean)
	if readErr != nil || !session.ResumesByItself(h.ListWork(), pending) {
		return cmp.Or(readErr, err)
	}
	// Record the interrupt, so that no later process resumes what the user stopped.
	e := ending{state: halted, failure: session.Fail(session.ReasonAborted, "the user interrupted the session"), err: err}
	_, err = d.recordEnding(clean, nil, e)
	return err
}
