// Package projection writes the rows that an event means, inside the event's own transaction. What an event means is
// defined in session (Session.Apply, Begin, Assistant.Apply, MarkAfter); this package only loads, folds and stores.
//
// Invariant: folding a whole log into an empty store gives the same rows, byte for byte, as the live session had.
// Saved approvals are the exception: they belong to the project and can be revoked outside of any session.
package projection

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

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
	if b.turn != nil && b.turn.message.ID != session.ChangedTurn(e.Data) {
		if err := b.Flush(); err != nil {
			return err
		}
	}
	if err := b.applyRows(e); err != nil {
		return fmt.Errorf("project %s: %w", e.Describe(), err)
	}
	return nil
}

// applyRows applies the event to each kind of row.
func (b *Batch) applyRows(e session.Event) error {
	if err := applySession(b, e); err != nil {
		return err
	}
	if err := applyInbox(b.tx, e); err != nil {
		return err
	}
	if err := applyMessage(b, e); err != nil {
		return err
	}
	if err := applyEpoch(b.tx, e); err != nil {
		return err
	}
	return applyAsk(b.tx, e)
}
