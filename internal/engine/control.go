package engine

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Interrupt stops the session's work, its background jobs included, and that of the sessions below it, and waits until
// that is recorded. An idle session stays as it is. Pending prompts stay pending until the next wake.
func (e *Engine) Interrupt(ctx context.Context, id session.ID) error {
	if _, err := e.journal.ReadSession(ctx, id); err != nil {
		return err
	}
	wasIdle := e.Status(id).Type == StatusIdle
	if err := e.coordinator.interrupt(ctx, id, turnlog.ErrInterrupted); err != nil {
		return err
	}
	if wasIdle { // the caller may have missed the notice that it is
		e.statuses.Notify(id, Status{Type: StatusIdle})
	}
	return errors.Join(e.Jobs.EndAll(ctx, id, turnlog.ErrCancelled), e.interruptBelow(ctx, id))
}

// interruptBelow interrupts the sessions below the session that are still at work. A call of the tool task stops its
// subagent itself, unless the interrupt came while recovery resumed both. A session that cannot be interrupted keeps no
// other one at work; sessions that are deleted meanwhile are no error.
func (e *Engine) interruptBelow(ctx context.Context, id session.ID) error {
	var failed error
	for _, active := range e.coordinator.listActive() {
		s, err := e.journal.ReadSession(ctx, active)
		if err == nil && s.ParentID == id {
			err = e.Interrupt(ctx, active)
		}
		if err != nil && !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// Wait returns when the session is idle and has no task in the background. How its work ended is recorded in the
// session.
func (e *Engine) Wait(ctx context.Context, id session.ID) error {
	if _, err := e.journal.ReadSession(ctx, id); err != nil {
		return err
	}
	for {
		err := e.coordinator.wait(ctx, id)
		if ctx.Err() != nil || errors.Is(err, turnlog.ErrShutdown) {
			return err
		}
		if waited, err := e.Jobs.AwaitTasks(ctx, id); !waited || err != nil {
			return err
		}
	}
}

// Resume runs the session: its pending prompts or, without any, one turn on its history as it is.
func (e *Engine) Resume(ctx context.Context, id session.ID) error {
	if _, err := e.journal.ReadSession(ctx, id); err != nil {
		return err
	}
	return e.coordinator.run(ctx, id)
}

// Status returns what the session does.
func (e *Engine) Status(id session.ID) Status { return e.statuses.Get(id) }

// IsAwaitingReplies reports whether all that the session and its subagents do is wait for people, so that the next
// process can do that as well. It is false from the moment that a reply is stored until the call that asked has its
// outcome, and while another call of the turn runs.
func (e *Engine) IsAwaitingReplies(id session.ID) bool {
	waiting := e.Asks.CountWaiting(id)
	for _, child := range e.statuses.ListTasks(id) {
		if e.IsAwaitingReplies(child) {
			waiting++
		}
	}
	return waiting > 0 && waiting >= e.statuses.CountCalls(id)
}

// Active returns the sessions that are at work in this process.
func (e *Engine) Active() []session.ID { return e.coordinator.listActive() }

// CountDroppedEvents returns of how many events extensions were not told.
func (e *Engine) CountDroppedEvents() int64 { return e.journal.Events.CountDropped() }

// scheduler runs work for package admit. It implements admit.Scheduler.
type scheduler struct{ engine *Engine }

// Wake implements admit.Scheduler.
func (s scheduler) Wake(id session.ID, resume bool) {
	mode := drainPending
	if resume {
		mode = drainRestart
	}
	s.engine.coordinator.wake(id, mode)
}

// EndPause implements admit.Scheduler.
func (s scheduler) EndPause(id session.ID) { s.engine.retryWaits.Cut(id) }

// RunIdle implements admit.Scheduler.
func (s scheduler) RunIdle(ctx context.Context, id session.ID, f func(context.Context) error) (bool, error) {
	return s.engine.coordinator.runIdle(ctx, id, f)
}

// RunAtBoundary implements admit.Scheduler.
func (s scheduler) RunAtBoundary(ctx context.Context, id session.ID, f func(context.Context) error) error {
	return s.engine.coordinator.runAtBoundary(ctx, id, f)
}

// ShowBusy implements admit.Scheduler.
func (s scheduler) ShowBusy(id session.ID) { s.engine.statuses.Set(id, Status{Type: StatusBusy}) }

// IsIdle implements admit.Scheduler.
func (s scheduler) IsIdle(id session.ID) bool { return s.engine.Status(id).Type == StatusIdle }

// EndTasks implements admit.Scheduler.
func (s scheduler) EndTasks(ctx context.Context, id session.ID, since int64) error {
	info, err := s.engine.journal.ReadSession(ctx, id)
	if err != nil {
		return err
	}
	for _, j := range info.Jobs {
		if j.Task == nil || j.Status != session.JobRunning || j.Time.Started < since {
			continue
		}
		if _, err := s.engine.Jobs.Cancel(ctx, id, j.ID); err != nil {
			return err
		}
	}
	return nil
}

// EndLeftOpen implements admit.Scheduler. It ends work that an earlier process left open, as an interrupt does, so
// that no later process resumes it: first the session's jobs and turn, then its child sessions.
func (s scheduler) EndLeftOpen(ctx context.Context, id session.ID) error {
	ctx = context.WithoutCancel(ctx)
	// Find what is unfinished.
	var isUnfinished bool
	var children []session.ID
	err := s.engine.journal.Store.View(ctx, func(r store.Reader) (err error) {
		isUnfinished, children, err = findUnfinished(r, id)
		return err
	})
	if err != nil || !isUnfinished {
		return err
	}
	// End the jobs, then the turn, with a drain whose context has ended.
	if err := s.engine.Jobs.EndOrphans(ctx, id); err != nil {
		return err
	}
	stopped, stop := context.WithCancelCause(ctx)
	stop(turnlog.ErrInterrupted)
	d := newDrain(s.engine, id)
	if err := d.exit(stopped, turnlog.ErrInterrupted); err != nil && !errors.Is(err, turnlog.ErrInterrupted) {
		return err
	}
	// End the work of child sessions. Those that are not idle work in this process and stay as they are.
	for _, child := range children {
		_, err := s.RunIdle(ctx, child, func(ctx context.Context) error { return s.EndLeftOpen(ctx, child) })
		if err != nil {
			return err
		}
	}
	return nil
}

// findUnfinished reports whether the session is marked as unfinished, and returns its child sessions that are.
func findUnfinished(r store.Reader, id session.ID) (marked bool, children []session.ID, err error) {
	ids, err := r.Unfinished(0)
	for _, other := range ids {
		if other == id {
			marked = true
			continue
		}
		s, ok, err := r.Session(other)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return false, nil, err
		}
		if ok && err == nil && s.ParentID == id {
			children = append(children, other)
		}
	}
	return marked, children, err
}

// Stop implements admit.Scheduler.
func (s scheduler) Stop(ctx context.Context, id session.ID) error {
	if err := s.engine.coordinator.interrupt(ctx, id, turnlog.ErrDeleted); err != nil {
		return err
	}
	if err := s.engine.Jobs.EndAll(ctx, id, turnlog.ErrCancelled); err != nil {
		return err
	}
	s.engine.titles.Cancel(id)
	s.engine.summaries.Cancel(id)
	return nil
}

// Forget implements admit.Scheduler.
func (s scheduler) Forget(ctx context.Context, id session.ID) error {
	if err := s.engine.coordinator.interrupt(ctx, id, turnlog.ErrInterrupted); err != nil {
		return err
	}
	s.engine.histories.Delete(id)
	s.engine.statuses.Set(id, Status{Type: StatusIdle})
	return nil
}
