package admit

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// PlanRevert returns the revert that StageRevert would stage with the files as they are. The session may be working.
func (c *Commands) PlanRevert(
	ctx context.Context, id session.ID, t undo.Target,
) (planned *session.Revert, err error) {
	err = c.withReverter(ctx, id, func(r undo.Reverter) error {
		planned, err = r.Plan(ctx, id, t)
		return err
	})
	return planned, err
}

// StageRevert stages the revert of the session to the target in place of a staged one, and returns it. Tasks in the
// background that it takes back end: their reports would commit it, and their changes follow it. An unknown message is
// a *session.Error of code not-found, a session that works one of code conflict; neither changes anything. A forced one
// replaces without an ask what others wrote, so it is for callers who may approve.
func (c *Commands) StageRevert(
	ctx context.Context, id session.ID, t undo.Target,
) (staged *session.Revert, err error) {
	if t.Force {
		if err := caller.Require(ctx, caller.Approve, "a forced revert"); err != nil {
			return nil, err
		}
	}
	if err := c.resumeRevert(ctx, id); err != nil {
		return nil, err
	}
	err = c.withReverter(ctx, id, func(r undo.Reverter) error { return r.CheckTarget(ctx, id, t) })
	if err != nil {
		return nil, err
	}
	if err := c.endRevertedTasks(ctx, id, t); err != nil {
		return nil, err
	}
	err = c.runReverter(ctx, id, func(ctx context.Context, r undo.Reverter) error {
		if err := c.scheduler.EndLeftOpen(ctx, id); err != nil { // a turn in the range would never end
			return err
		}
		staged, err = r.StageRevert(ctx, id, t)
		return err
	})
	return staged, err
}

// endRevertedTasks ends the tasks in the background that began after the target, unless the session works.
func (c *Commands) endRevertedTasks(ctx context.Context, id session.ID, t undo.Target) error {
	s, err := c.journal.ReadSession(ctx, id)
	isTask := func(j session.Job) bool { return j.Task != nil && j.Status == session.JobRunning }
	if err != nil || !slices.ContainsFunc(s.Jobs, isTask) || !c.scheduler.IsIdle(id) {
		return err
	}
	planned, err := c.PlanRevert(ctx, id, t)
	if err != nil {
		return err
	}
	var since int64
	err = c.journal.Store.View(ctx, func(r store.Reader) error {
		m, found, err := store.FindMessage(r, id, planned.MessageID)
		if err == nil && found {
			since = m.Meta().Time.Created
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.scheduler.EndTasks(ctx, id, since)
}

// ClearRevert brings back what the session's staged revert took back, and returns the files that stay as they are.
// Without one it does nothing. A session that works is a *session.Error of code conflict.
func (c *Commands) ClearRevert(ctx context.Context, id session.ID) (kept []session.KeptFile, err error) {
	s, err := c.journal.ReadSession(ctx, id)
	if err != nil || s.Revert == nil {
		return nil, err
	}
	err = c.runReverter(ctx, id, func(ctx context.Context, r undo.Reverter) error {
		kept, err = r.Clear(ctx, id)
		return err
	})
	return kept, err
}

// CommitRevert makes the session's staged revert final. Without one it does nothing. A session that works is a
// *session.Error of code conflict.
func (c *Commands) CommitRevert(ctx context.Context, id session.ID) error {
	s, err := c.journal.ReadSession(ctx, id)
	if err != nil || s.Revert == nil {
		return err
	}
	return c.runReverter(ctx, id, func(ctx context.Context, r undo.Reverter) error {
		if err := r.Resume(ctx, id); err != nil {
			return err
		}
		if err := c.scheduler.EndLeftOpen(ctx, id); err != nil {
			return err
		}
		_, err := c.journal.Log.Append(ctx, id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
			return commitReverted(tx, id)
		})
		return err
	})
}

// RecoverFiles brings back the files of the session's newest committed revert, as undo.Reverter.RecoverFiles. A
// session that works is a *session.Error of code conflict.
func (c *Commands) RecoverFiles(ctx context.Context, id session.ID) (out *undo.Recovery, err error) {
	err = c.runReverter(ctx, id, func(ctx context.Context, r undo.Reverter) error {
		out, err = r.RecoverFiles(ctx, id)
		return err
	})
	return out, err
}

// CompleteRevert completes the staging or clearing of a revert that a crash interrupted. It runs as work of the
// session.
func (c *Commands) CompleteRevert(ctx context.Context, id session.ID) error {
	return c.withReverter(ctx, id, func(r undo.Reverter) error { return r.Resume(ctx, id) })
}

// resumeRevert completes a revert of the session that a process which died left half done. A session that works, also
// one that is restoring files, is a *session.Error of code conflict.
func (c *Commands) resumeRevert(ctx context.Context, id session.ID) error {
	s, err := c.journal.ReadSession(ctx, id)
	if err != nil || s.Revert == nil || s.Revert.Phase == session.RevertDone {
		return err
	}
	return c.runReverter(ctx, id, func(ctx context.Context, r undo.Reverter) error { return r.Resume(ctx, id) })
}

// withoutHalfRevert runs f, which adds to the session. If f is a conflict it completes a revert that is half done,
// which may be the reason, and runs f again.
func (c *Commands) withoutHalfRevert(ctx context.Context, id session.ID, f func() error) error {
	err := f()
	if !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		return err
	}
	s, readErr := c.journal.ReadSession(ctx, id)
	if readErr != nil || s.Revert == nil || s.Revert.Phase == session.RevertDone {
		return err
	}
	if err := c.resumeRevert(ctx, id); err != nil {
		return err
	}
	return f()
}

// commitReverted returns the events that commit the session's staged revert, for a transaction that adds to the
// session.
func commitReverted(tx store.Tx, id session.ID) ([]eventlog.Draft, error) {
	s, err := store.FindSession(tx, id)
	if err != nil {
		return nil, err
	}
	facts, err := undo.CommitFacts(tx, s)
	return eventlog.NewDrafts(facts...), err
}

// runReverter runs f as the work of the session, which must be idle.
func (c *Commands) runReverter(
	ctx context.Context, id session.ID, f func(context.Context, undo.Reverter) error,
) error {
	if err := c.checkOpen(); err != nil {
		return err
	}
	s, err := c.journal.ReadSession(ctx, id)
	if err != nil {
		return err
	}
	at, moved, release, err := scope.OpenForWork(ctx, c.locations, s) // files of another project are not touched
	if err != nil {
		return err
	}
	defer release()
	idle, err := c.scheduler.RunIdle(ctx, id, func(ctx context.Context) error {
		if moved {
			if err := c.FollowProject(ctx, s, at); err != nil {
				return err
			}
		}
		return c.withReverter(ctx, id, func(r undo.Reverter) error { return f(ctx, r) })
	})
	if err == nil && !idle {
		return session.Conflict("session", string(id), "is working; wait until it is idle, or interrupt it")
	}
	return err
}

// withReverter runs f with the reverter of the session's location.
func (c *Commands) withReverter(ctx context.Context, id session.ID, f func(undo.Reverter) error) error {
	s, err := c.journal.ReadSession(ctx, id)
	if err != nil {
		return err
	}
	scope, release, err := scope.Open(ctx, c.locations, s)
	if err != nil {
		return err
	}
	defer release()
	return f(undo.Reverter{Journal: c.journal, Changes: c.changes, Files: scope.Files})
}

// ReadDiff returns what the session changed in files, as undo.Reverter.ReadDiff.
func (c *Commands) ReadDiff(
	ctx context.Context, id session.ID, q undo.DiffQuery,
) (d undo.SessionDiff, err error) {
	err = c.withReverter(ctx, id, func(r undo.Reverter) error {
		d, err = r.ReadDiff(ctx, id, q)
		return err
	})
	return d, err
}
