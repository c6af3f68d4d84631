package admit

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// CompactionAdmission asks to replace the session's past by a summary.
type CompactionAdmission struct {
	SessionID session.ID
	ID        session.MessageID // the caller's idempotency key; "" makes one
	Delivery  session.Delivery  // "" is steer: at the next boundary
	Request   session.CompactionRequest
	SkipEmpty bool // admit nothing, and return nil, if the session has no message and no prompt
}

// AdmitCompaction admits the request and wakes the session. It is carried out between two turns; prompts that follow it
// in the inbox wait for it. The same id with the same request returns the same receipt, and ends what an earlier
// process left open, as a restart does.
func (c *Commands) AdmitCompaction(ctx context.Context, a CompactionAdmission) (*session.Input, error) {
	if err := c.checkCompaction(ctx, &a); err != nil {
		return nil, err
	}
	if err := c.resumeRevert(ctx, a.SessionID); err != nil {
		return nil, err
	}
	// An empty session has nothing to summarise.
	if a.SkipEmpty {
		empty, err := store.Query(ctx, c.journal.Store, func(r store.Reader) (bool, error) {
			return isEmpty(r, a.SessionID)
		})
		if empty || err != nil {
			return nil, err
		}
	}
	// Admit the request, or find the receipt of an earlier one with the same id.
	in := &session.Input{
		ID: a.ID, SessionID: a.SessionID, Delivery: a.Delivery, Compaction: &a.Request, Restricted: isRestricted(ctx),
	}
	var earlier *session.Input
	events, err := c.journal.Log.Append(ctx, a.SessionID, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		earlier = nil
		if _, err := store.FindSession(tx, a.SessionID); err != nil {
			return nil, err
		}
		known, ok, err := store.FindInput(tx, a.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			earlier = known
			return nil, checkSameCompaction(known, in)
		}
		if err := c.checkInboxRoom(tx, a.SessionID); err != nil {
			return nil, err
		}
		// A staged revert is committed first: the summary must not have what it takes back.
		drafts, err := commitReverted(tx, a.SessionID)
		if err != nil {
			return nil, err
		}
		return append(drafts, eventlog.Draft{Data: &session.CompactionAdmitted{
			MessageID: a.ID, Delivery: a.Delivery, Request: a.Request, Restricted: in.Restricted,
		}}), fault.PassPoint(ctx, fault.AdmitPreCommit)
	})
	if err != nil {
		return nil, err
	}
	// Wake the session. A request that was carried out before may have been left open by an earlier process.
	if earlier != nil {
		in = earlier
	} else {
		e := events[len(events)-1]
		in.AdmittedSeq, in.Order, in.TimeCreated = e.Seq, e.Seq, e.Data.Stamp().Timestamp
	}
	c.scheduler.Wake(a.SessionID, in.PromotedSeq != nil)
	return in, nil
}

// isEmpty reports whether the session has no message and no prompt that waits.
func isEmpty(r store.Reader, id session.ID) (bool, error) {
	pending, err := store.PendingInputs(r, id, "", 1)
	if err != nil || len(pending) > 0 {
		return false, err
	}
	rows, err := store.ReadRawMessages(r, id, store.MessageQuery{After: -1, Limit: 1})
	return len(rows) == 0, err
}

// checkCompaction validates the request and fills in its defaults.
func (c *Commands) checkCompaction(ctx context.Context, a *CompactionAdmission) error {
	if err := c.checkNewWork(); err != nil {
		return err
	}
	// The request by itself.
	if a.ID == "" {
		a.ID = c.journal.NewMessageID()
	} else if err := session.CheckID("id", session.PrefixMessage, string(a.ID)); err != nil {
		return err
	}
	a.Delivery = cmp.Or(a.Delivery, session.Steer)
	if err := checkDelivery(a.Delivery); err != nil {
		return err
	}
	const limit = 16 << 10
	if n := len(a.Request.Instructions); n > limit {
		return session.Errorf(session.CodeTooLarge, "the instructions have %d bytes, the limit is %d", n, limit).
			At("instructions")
	}
	if a.Request.Model == nil {
		return nil
	}
	// The model exists where the session is.
	s, err := c.journal.ReadSession(ctx, a.SessionID)
	if err != nil {
		return err
	}
	scope, release, err := scope.Open(ctx, c.locations, s)
	if err != nil {
		return err
	}
	defer release()
	return scope.CheckSelection("", a.Request.Model)
}

// checkSameCompaction returns a conflict if the id belongs to something else.
func checkSameCompaction(known, in *session.Input) error {
	same := known.SessionID == in.SessionID && known.Compaction != nil &&
		known.Compaction.Instructions == in.Compaction.Instructions
	if same {
		return nil
	}
	return session.Conflict("message", string(in.ID), "is already used by another prompt")
}

// checkInboxRoom refuses another entry of a full inbox.
func (c *Commands) checkInboxRoom(tx store.Tx, id session.ID) error {
	pending, err := store.PendingInputs(tx, id, "", 0)
	if err == nil && len(pending) >= c.limits.Pending {
		return session.Errorf(session.CodeTooMany,
			"the session has %d prompts waiting already; the limit is %d", len(pending), c.limits.Pending)
	}
	return err
}

// UndoCompaction makes visible again what the newest compaction hides, with the system context of that time. A session
// that works, that has no compaction, or whose newest compaction a staged revert hides, is a conflict.
func (c *Commands) UndoCompaction(ctx context.Context, id session.ID) error {
	if err := c.checkOpen(); err != nil {
		return err
	}
	idle, err := c.scheduler.RunIdle(ctx, id, func(ctx context.Context) error {
		_, err := c.journal.Log.Append(ctx, id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
			return undoNewest(tx, id)
		})
		return err
	})
	if err == nil && !idle {
		return session.Conflict("session", string(id), "is working; undo the compaction when it is idle")
	}
	return err
}

// undoNewest returns the fact that undoes the session's newest compaction.
func undoNewest(tx store.Tx, id session.ID) ([]eventlog.Draft, error) {
	s, err := store.FindSession(tx, id)
	if err != nil {
		return nil, err
	}
	// Find the newest compaction; a staged revert must not hide it.
	m, ok, err := store.NewestMessage(tx, id, session.TypeCompaction)
	if err != nil {
		return nil, err
	}
	newest, isCompaction := m.(*session.Compaction)
	if !ok || !isCompaction {
		return nil, session.Conflict("session", string(id), "has no compaction to undo")
	}
	shown, err := undo.HideStaged(tx, s)
	if err != nil {
		return nil, err
	}
	if visible, _, err := store.NewestMessage(shown, id, session.TypeCompaction); err != nil {
		return nil, err
	} else if visible == nil || visible.Meta().ID != newest.ID {
		return nil, session.Conflict("session", string(id), "stays as it is: its newest compaction was taken back "+
			"with a prompt; bring the prompt back, or prompt the session, first")
	}
	// The system context of before comes back as well, if the event of the compaction kept it.
	draft := eventlog.Draft{Data: &session.CompactionUndone{MessageID: newest.ID, SummaryAs: newest.SummaryAs}}
	rows, err := tx.Events(id, newest.Seq-1, 1, session.KindCompactionEnded)
	if err != nil || len(rows) == 0 || rows[0].Seq != newest.Seq { // an imported one
		return []eventlog.Draft{draft}, err
	}
	e, err := eventlog.Decode(rows[0])
	if err != nil || e.Private == nil || e.Private.Before == nil {
		return []eventlog.Draft{draft}, err
	}
	current, ok, err := tx.Epoch(id)
	if err != nil || !ok {
		return []eventlog.Draft{draft}, err
	}
	// One of another location, or of another store, does not come back.
	ends, err := tx.Events(id, newest.Seq, 1, session.KindMoved, session.KindImported)
	if err != nil || len(ends) > 0 {
		return []eventlog.Draft{draft}, err
	}
	before := *e.Private.Before
	before.Revision = current.Revision + 1
	draft.Private = &session.Private{Epoch: &before}
	return []eventlog.Draft{draft}, nil
}
