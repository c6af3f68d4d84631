package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// UnfinishedSession is a session whose work an earlier process left unfinished.
type UnfinishedSession struct {
	SessionID session.ID
	Directory string
	Recovery  session.Recovery // pause if one of its unfinished prompts waits for a person
}

// Recover resumes the sessions whose work an earlier process left unfinished, and returns them, least recently changed
// first. Where the work is to pause it only ends what was left open: no model is asked and no tool runs until a
// person continues the session, by a prompt or a reply. Recover returns when all are woken.
//
// Only servers call it, at their start and when they begin to relay to this process: a command alone would interrupt
// the resumed work again when it ends. Sessions at work are left alone, and a call after one that succeeded does
// nothing.
func (e *Engine) Recover(ctx context.Context) (unfinished []UnfinishedSession, err error) {
	// Once per process; after a failure the next call tries again.
	if e.recovered.Swap(true) {
		return nil, nil
	}
	defer func() {
		if err != nil {
			e.recovered.Store(false)
		}
	}()
	// Find the sessions that no process works on.
	err = e.journal.Store.View(ctx, func(r store.Reader) error {
		ids, err := r.Unfinished(0)
		atWork := e.Active()
		for _, id := range ids {
			if slices.Contains(atWork, id) {
				continue
			}
			u, err := e.readUnfinishedSession(r, id)
			if err != nil { // damaged: the others go on
				e.logger.Error("read an unfinished session", "session", id, "error", err)
				continue
			}
			unfinished = append(unfinished, u)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find unfinished sessions: %w", err)
	}
	// Approvals that lasted as long as an earlier process end before any tool runs.
	if err := e.Asks.DropEndedApprovals(ctx); err != nil {
		return nil, fmt.Errorf("remove approvals of earlier processes: %w", err)
	}
	// Wake them all.
	for _, u := range unfinished {
		mode := drainRestart
		if u.Recovery == session.RecoveryPause {
			mode = drainRepair
		}
		e.coordinator.wake(u.SessionID, mode)
	}
	return unfinished, nil
}

// readUnfinishedSession reads an unfinished session. Its Recovery follows from the prompts with unfinished work: the
// newest one of a history that needs a turn, the pending ones that start work, and those that began tasks in the
// background.
func (e *Engine) readUnfinishedSession(r store.Reader, id session.ID) (u UnfinishedSession, err error) {
	s, err := store.FindSession(r, id)
	if err != nil {
		return u, err
	}
	u = UnfinishedSession{SessionID: id, Directory: s.Location.Directory, Recovery: session.RecoveryResume}
	h, err := e.histories.ReadHistory(r, s)
	if err != nil {
		return u, err
	}
	// Collect the prompts with unfinished work: the pending ones, and the one that the history continues.
	unfinished, err := store.PendingInputs(r, id, "", 0)
	if err != nil {
		return u, err
	}
	if h.NeedsTurn() {
		if prompt := h.NewestPrompt(); prompt != nil {
			in, ok, err := store.FindInput(r, prompt.ID)
			if err != nil {
				return u, err
			}
			if ok {
				unfinished = append(unfinished, in)
			}
		}
	}
	// Pausing wins: one prompt that must not be resumed keeps the whole session from it.
	for _, in := range unfinished {
		if (in.PromotedSeq != nil || in.StartsWork()) && in.Recovery == session.RecoveryPause {
			u.Recovery = session.RecoveryPause
		}
	}
	for _, j := range s.Jobs {
		if j.Status == session.JobRunning && j.Task != nil && j.Task.Recovery == session.RecoveryPause {
			u.Recovery = session.RecoveryPause
		}
	}
	return u, nil
}
