// Package projection writes the rows that an event means, inside the event's own transaction. What an event means is
// defined in session (Session.Apply, Begin, Assistant.Apply, MarkAfter); this package only loads, folds and stores.
//
// Invariant: folding a whole log into an empty store gives the same rows, byte for byte, as the live session had.
// Saved approvals are the exception: they belong to the project and can be revoked outside of any session.
package projection

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Batch writes the rows of events that are committed together. A turn that several of them change is read once, and
// written once by Flush.
type Batch struct {
	tx   store.Tx
	held *heldTurn // nil if the batch holds no turn
}

// heldTurn is the turn that a batch is changing.
type heldTurn struct {
	session session.ID
	message *session.Assistant
	through int64 // seq of the newest event that was applied to it
	changed bool
}

// NewBatch returns an empty batch on tx.
func NewBatch(tx store.Tx) *Batch { return &Batch{tx: tx} }

// Apply writes the rows of a single event.
func Apply(tx store.Tx, e session.Event) error {
	b := NewBatch(tx)
	if err := b.Apply(e); err != nil {
		return err
	}
	return b.Flush()
}

// Apply writes the rows of the event, except those that Flush writes. The event is not inserted yet: the session's
// head is still e.Seq-1. After an error, nothing of the batch may be committed.
func (b *Batch) Apply(e session.Event) error {
	if b.held != nil && b.held.message.ID != session.ChangedTurn(e.Data) {
		if err := b.Flush(); err != nil {
			return err
		}
	}
	steps := []func(store.Tx, session.Event) error{
		applySession, applyInbox, func(
			_ store.Tx, e session.Event,
		) error {
			return b.applyMessage(e)
		}, applyEpoch, applyAsk,
	}
	for _, step := range steps {
		if err := step(b.tx, e); err != nil {
			return fmt.Errorf("project %s: %w", e.Describe(), err)
		}
	}
	return nil
}

// Flush writes the turn that the batch holds.
func (b *Batch) Flush() error {
	t := b.held
	b.held = nil
	if t == nil || !t.changed {
		return nil
	}
	if err := b.tx.PutMessage(t.session, t.message, t.through); err != nil {
		return fmt.Errorf("project %s: %w", t.session, err)
	}
	return nil
}

func applySession(tx store.Tx, e session.Event) error {
	if _, ok := e.Data.(*session.Created); !ok && !touchesSession(e.Data) {
		return nil
	}
	s, ok, err := tx.Session(e.SessionID)
	if err != nil {
		return err
	}
	created, first := e.Data.(*session.Created)
	switch {
	case first && ok:
		return session.Conflict("session", string(e.SessionID), "exists already")
	case first:
		if created.Info.ID != e.SessionID {
			return fmt.Errorf("the event creates session %s", created.Info.ID)
		}
		s = &session.Session{}
	case !ok:
		return session.NotFound("session", string(e.SessionID))
	}
	if !s.Apply(e.Data) {
		return nil
	}
	return tx.PutSession(s)
}

// touchesSession reports whether the event may change the session's row. It spares the frequent events of a turn a
// useless read.
func touchesSession(d session.EventData) bool {
	switch d.(type) {
	case *session.TextStarted, *session.TextEnded, *session.ReasoningStarted, *session.ReasoningEnded,
		*session.ToolInputStarted, *session.ToolInputEnded, *session.ToolCalled, *session.ToolProgress,
		*session.ToolSuccess, *session.ToolFailed, *session.ItemCheckpointed, *session.MessageImported,
		*session.Unknown:
		return false
	default:
		return true
	}
}

// updateMark does to the mark of unfinished sessions what the event says (session.MarkAfter). a is the event's turn
// with the event applied to it, nil if the event has none.
func updateMark(tx store.Tx, e session.Event, a *session.Assistant) error {
	mark := session.MarkAfter(e.Data, a)
	switch mark {
	case session.MarkKept:
		return nil
	case session.MarkSet:
		return tx.SetUnfinished(e.SessionID, true)
	default:
		return clearMark(tx, e.SessionID, mark)
	}
}

// clearMark clears the mark unless something that the mark names is left to do. What needs no row to be read comes
// first.
func clearMark(tx store.Tx, id session.ID, unless session.Mark) error {
	if unless == session.MarkUnlessTurn {
		if needed, err := needsTurn(tx, id); err != nil || needed {
			return err
		}
	}
	if unless != session.MarkUnlessJob {
		pending, err := store.PendingInputs(tx, id, "", 0)
		if err != nil || slices.ContainsFunc(pending, (*session.Input).StartsWork) {
			return err
		}
	}
	s, ok, err := tx.Session(id)
	if err != nil || !ok || s.RunningJobs() {
		return err
	}
	return tx.SetUnfinished(id, false)
}

// needsTurn reports whether the newest prompt and the newest turn of the history call for another turn.
func needsTurn(tx store.Tx, id session.ID) (bool, error) {
	var newest []session.Message
	for _, t := range []session.MessageType{session.TypeUser, session.TypeAssistant} {
		m, ok, err := store.NewestMessage(tx, id, t)
		if err != nil {
			return false, err
		}
		if ok {
			newest = append(newest, m)
		}
	}
	slices.SortFunc(newest, func(a, b session.Message) int { return cmp.Compare(a.Meta().Seq, b.Meta().Seq) })
	return session.NextOf(newest).NeedsTurn(), nil
}
