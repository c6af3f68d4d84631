package store

import (
	"context"
	"errors"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// DamageTracker is a Store that remembers the sessions in which a View or an Update found damage. It is safe for
// concurrent use.
type DamageTracker struct {
	Store

	mu      sync.Mutex             // guards damaged
	damaged map[session.ID]*Damage // at most maxDamaged
}

// maxDamaged bounds the remembered sessions. The damage of a forgotten one is found again by the next read that
// encounters it.
const maxDamaged = 1024

// TrackDamage returns a DamageTracker of s, or s itself if it is one.
func TrackDamage(s Store) *DamageTracker {
	if w, ok := s.(*DamageTracker); ok {
		return w
	}
	return &DamageTracker{Store: s, damaged: map[session.ID]*Damage{}}
}

// Update implements Store.
func (w *DamageTracker) Update(ctx context.Context, d Durability, f func(Tx) error) error {
	return w.NoteDamage(w.Store.Update(ctx, d, f))
}

// View implements Store.
func (w *DamageTracker) View(ctx context.Context, f func(Reader) error) error {
	return w.NoteDamage(w.Store.View(ctx, f))
}

// FindDamage returns the *Damage that was found in the session, nil if none was found.
func (w *DamageTracker) FindDamage(id session.ID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.damaged[id]; d != nil {
		return d
	}
	return nil
}

// ForgetDamage removes a deleted session.
func (w *DamageTracker) ForgetDamage(id session.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.damaged, id)
}

// NoteDamage remembers the session if err is the *Damage of one. It returns err.
func (w *DamageTracker) NoteDamage(err error) error {
	if err == nil {
		return nil
	}
	d, ok := errors.AsType[*Damage](err)
	if !ok || d.SessionID == "" {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.damaged {
		if len(w.damaged) < maxDamaged {
			break
		}
		delete(w.damaged, id)
	}
	w.damaged[d.SessionID] = d
	return err
}
