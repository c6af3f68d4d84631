package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Repair is one thing that RepairStore has done.
type Repair struct {
	SessionID session.ID
	Detail    string
}

// RepairStore repairs what earlier versions left behind: it deletes child sessions whose parent was deleted, and ends
// turns that a revert removed while they were open. Damaged sessions stay as they are. Nothing else may run.
func (e *Engine) RepairStore(ctx context.Context) (done []Repair, err error) {
	var sessions []*session.Session
	deleted := map[session.ID]bool{}
	// Read all sessions, and which were deleted.
	err = e.journal.Store.View(ctx, func(r store.Reader) (err error) {
		if sessions, err = store.ReadSessions(r, store.SessionQuery{Archived: true}); err != nil {
			return err
		}
		rows, err := r.Events("", 0, 0, session.KindDeleted)
		for _, row := range rows {
			deleted[row.SessionID] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	// Repair one after the other; a damaged one keeps none of the others from it.
	for _, s := range sessions {
		detail, err := e.repairSession(ctx, s, deleted[s.ParentID])
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return done, fmt.Errorf("repair session %s: %w", s.ID, err)
		}
		if detail != "" {
			done = append(done, Repair{s.ID, detail})
		}
	}
	return done, nil
}

// repairSession repairs a session and returns what it did, "" for nothing. deleted reports that the parent was deleted.
// A parent that is missing but was not deleted may be lost through damage: its child is kept.
func (e *Engine) repairSession(ctx context.Context, s *session.Session, deleted bool) (detail string, err error) {
	// Find what needs a repair.
	isOrphan := false
	var removed []removedTurn
	err = e.journal.Store.View(ctx, func(r store.Reader) (err error) {
		if deleted {
			_, there, err := r.Session(s.ParentID)
			isOrphan = !there
			return err
		}
		removed, err = findRemovedTurns(r, s.ID)
		return err
	})
	// Delete an orphan, or end the removed turns.
	switch {
	case err != nil:
		return "", err
	case isOrphan:
		err := e.Commands.DeleteSession(ctx, s.ID)
		if errors.Is(err, &session.Error{Code: session.CodeNotFound}) { // with its own parent
			err = nil
		}
		return fmt.Sprintf("deleted: its parent %s was deleted", s.ParentID), err
	}
	for _, t := range removed {
		why := session.Fail(session.ReasonInterrupted, "a revert removed this turn while it was open")
		turn := turnlog.ReopenTurn(turnlog.RecorderConfig{Journal: e.journal, SessionID: s.ID}, t.message.ID, nil)
		if err := turn.AbandonTurn(ctx, t.message, why, nil, t.replies...); err != nil {
			return "", err
		}
		detail = "ended the turns that a revert removed while they were open"
	}
	return detail, nil
}

// removedTurn is an open turn that is no message of the history any more.
type removedTurn struct {
	message *session.Assistant
	replies []eventlog.Draft // to its pending asks
}

// findRemovedTurns returns the session's open turns that a revert removed, oldest first. Their messages exist in the
// events only, so it builds all turns from these and selects those that are open and no message of the history.
func findRemovedTurns(r store.Reader, id session.ID) (out []removedTurn, err error) {
	// A turn is removed only when a revert is committed.
	reverts, err := r.Events(id, -1, 1, session.KindRevertCommitted)
	if err != nil || len(reverts) == 0 {
		return nil, err
	}
	events, err := eventlog.DecodeAll(r.Events(id, -1, 0))
	if err != nil {
		return nil, err
	}
	// Build the turns from the events.
	open := map[session.MessageID]*session.Assistant{}
	var order []session.MessageID
	for _, e := range events {
		if a, ok := session.Begin(e.Data, e.Seq).(*session.Assistant); ok {
			open[a.ID] = a
			order = append(order, a.ID)
		} else if a := open[session.ChangedTurn(e.Data)]; a != nil {
			a.Apply(e.Data)
		}
	}
	// Select those that are open and removed, with the replies to their asks.
	asks, err := r.Asks(store.AskQuery{SessionID: id, Pending: true})
	if err != nil {
		return nil, err
	}
	for _, m := range order {
		if _, kept, err := store.FindMessage(r, id, m); kept || err != nil || !open[m].Open() {
			if err != nil {
				return nil, err
			}
			continue
		}
		t := removedTurn{message: open[m]}
		for _, row := range asks {
			if row.Source != nil && row.Source.MessageID == m {
				t.replies = append(t.replies, rejectStopped(row.ID))
			}
		}
		out = append(out, t)
	}
	return out, nil
}
