package undo

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxLedgers bounds the ledgers in memory.
const maxLedgers = 64

// takeLedger takes the ledger of the session, which has what was recorded until now, out of the cache. A concurrent
// caller reads a ledger of its own.
func (r *ChangeRecorder) takeLedger(ctx context.Context, id session.ID) (*Ledger, error) {
	r.mu.Lock()
	l := r.ledgers[id]
	delete(r.ledgers, id)
	r.mu.Unlock()
	if l == nil {
		l = NewLedger()
	}
	if err := l.readNew(ctx, r.journal.Store, id); err != nil {
		return nil, err
	}
	return l, r.dropRemoved(ctx, id, l)
}

// putLedger returns a ledger to the cache.
func (r *ChangeRecorder) putLedger(id session.ID, l *Ledger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range r.ledgers {
		if len(r.ledgers) < maxLedgers {
			break
		}
		delete(r.ledgers, other)
	}
	r.ledgers[id] = l
}

// dropRemoved removes the changes of removed messages and parts from the ledger, if messages were edited since the last
// time.
func (r *ChangeRecorder) dropRemoved(ctx context.Context, id session.ID, l *Ledger) error {
	kept := map[session.MessageID]session.Message{}
	return r.journal.Store.View(ctx, func(rd store.Reader) error {
		s, err := store.FindSession(rd, id)
		if err != nil || s.Edits == l.edits {
			return err
		}
		l.edits = s.Edits
		for _, c := range l.Changes {
			if _, known := kept[c.MessageID]; known {
				continue
			}
			if kept[c.MessageID], _, err = store.FindMessage(rd, id, c.MessageID); err != nil {
				return err
			}
		}
		l.Changes = slices.DeleteFunc(l.Changes, func(c CallChange) bool {
			return !hasPart(kept[c.MessageID], c.PartID)
		})
		return nil
	})
}

// hasPart reports whether the message, nil if it was removed, has the part. The "" of changes that no call made is a
// part of every message.
func hasPart(m session.Message, part session.PartID) bool {
	a, isTurn := m.(*session.Assistant)
	if !isTurn || part == "" {
		return m != nil
	}
	return slices.ContainsFunc(a.Content, func(c session.Content) bool { return c.ItemID() == part })
}
