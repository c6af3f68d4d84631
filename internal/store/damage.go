package store

import (
	"context"
	"errors"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// DamageTracker is a Store that remembers in which sessions damage was found, by whatever View or Update came upon it. Safe
// for concurrent use.
type DamageTracker struct {
	Store

	mu      sync.Mutex             // guards damaged
	damaged map[session.ID]*Damage // at most maxDamaged
}

// maxDamaged is how many damaged sessions are remembered. One that is forgotten is found again by the next read that
// comes upon it.
const maxDamaged = 1024

// TrackDamage returns s, watched. What is watched already is returned as it is.
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

// FindDamage returns the *Damage that was found in the session, nil if none was.
func (w *DamageTracker) FindDamage(id session.ID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.damaged[id]; d != nil {
		return d
	}
	return nil
}

// ForgetDamage forgets what was found in a session that is gone.
func (w *DamageTracker) ForgetDamage(id session.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.damaged, id)
}

// NoteDamage remembers the session if err is its damage, found in what was read. It returns err.
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
