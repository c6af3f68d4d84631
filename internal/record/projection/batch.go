package projection

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Batch writes the rows of events that are committed together. A turn or a session that several of them change is read
// once, and written once by Flush.
type Batch struct {
	tx   store.Tx
	turn *cachedTurn // nil if the batch holds no turn
	row  cachedSession
}

// cachedSession is the session whose row a batch has read.
type cachedSession struct {
	session *session.Session // nil if the batch holds no row
	changed bool
}

// cachedTurn is the turn that a batch is changing.
type cachedTurn struct {
	session session.ID
	message *session.Assistant
	through int64 // seq of the newest event that was applied to it
	changed bool
}

// NewBatch returns an empty batch on tx.
func NewBatch(tx store.Tx) *Batch { return &Batch{tx: tx} }

// HoldSession gives the batch the session's row, which is what the store has. The batch may change it.
func (b *Batch) HoldSession(s *session.Session) { b.row = cachedSession{session: s} }

// HeldSession returns the session's row after the events of the batch; nil if the batch did not need it.
func (b *Batch) HeldSession(id session.ID) *session.Session {
	if b.row.session == nil || b.row.session.ID != id {
		return nil
	}
	return b.row.session
}

// Flush writes the turn and the session that the batch holds.
func (b *Batch) Flush() error {
	t, row := b.turn, b.row
	b.turn, b.row = nil, cachedSession{}
	if t != nil && t.changed {
		if err := b.tx.PutMessage(t.session, t.message, nil, t.through); err != nil {
			return fmt.Errorf("project %s: %w", t.session, err)
		}
	}
	if row.changed {
		if err := b.tx.PutSession(row.session); err != nil {
			return fmt.Errorf("project %s: %w", row.session.ID, err)
		}
	}
	return nil
}

// loadSession returns the session's row with the batch's changes; nil if the session does not exist.
func (b *Batch) loadSession(id session.ID) (*session.Session, error) {
	if b.row.session != nil && b.row.session.ID == id {
		return b.row.session, nil
	}
	s, ok, err := b.tx.Session(id)
	if err != nil || !ok {
		return nil, err
	}
	if b.row.changed {
		if err := b.tx.PutSession(b.row.session); err != nil {
			return nil, err
		}
	}
	b.row = cachedSession{session: s}
	return s, nil
}

// loadTurn loads the turn into b.turn; it stays nil if the message is missing or is not a turn.
func (b *Batch) loadTurn(id session.ID, m session.MessageID) error {
	if b.turn != nil {
		return nil
	}
	found, _, err := store.FindMessage(b.tx, id, m)
	if a, ok := found.(*session.Assistant); ok && err == nil {
		b.turn = &cachedTurn{session: id, message: a}
	}
	return err
}
