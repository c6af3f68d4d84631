package engine

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/task"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// resumeTree makes a session continue what an earlier process left open, and also the sessions above it whose calls
// wait for its work: without them the end of the work would reach no caller until a person continues each.
func (e *Engine) resumeTree(id session.ID) {
	e.coordinator.wake(id, drainRestart)
	waiting, err := e.findWaitingCallers(id)
	if err != nil {
		e.logger.Error("find the sessions that wait for a task", "session", id, "error", err)
	}
	for _, caller := range waiting {
		e.coordinator.wake(caller, drainRestart)
	}
}

// findWaitingCallers returns the sessions above a session that have an open call for its work, the nearest one first.
func (e *Engine) findWaitingCallers(id session.ID) (callers []session.ID, err error) {
	err = e.journal.Store.View(e.coordinator.root, func(r store.Reader) error {
		for {
			s, found, err := r.Session(id)
			if err != nil || !found || s.ParentID == "" || slices.Contains(callers, s.ParentID) {
				return err
			}
			// A task in the background is a job of its caller: the walk ends there, because that turn does not wait.
			if parent, found, err := r.Session(s.ParentID); err != nil {
				return err
			} else if found && hasRunningTask(parent, id) {
				callers = append(callers, s.ParentID)
				return nil
			}
			// An open call waits, and so may the caller of its session.
			m, found, err := store.NewestMessage(r, s.ParentID, session.TypeAssistant)
			a, isTurn := m.(*session.Assistant)
			if err != nil || !found || !isTurn || !a.Open() || !task.IsAwaiting(a, id) {
				return err
			}
			id = s.ParentID
			callers = append(callers, id)
		}
	})
	return callers, err
}

// hasRunningTask reports whether a job of the session is recorded as the unfinished work of the child session.
func hasRunningTask(s *session.Session, child session.ID) bool {
	return slices.ContainsFunc(s.Jobs, func(j session.Job) bool {
		return j.Status == session.JobRunning && j.Task != nil && j.Task.SessionID == child
	})
}
