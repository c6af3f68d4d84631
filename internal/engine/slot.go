package engine

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Slot is one of the limited number of sessions or tool calls that run at a time. A holder that waits for
// people gives its slot up, so that an unanswered ask does not keep others from running.
//
// A call reacquires its drain's slot before its own and releases its own first: a waiter for a drain's slot holds no
// slot that another drain could wait for.
type Slot struct {
	Pool *semaphore.Weighted // nil: no limit

	mu      sync.Mutex // guards the rest; held while the slot is acquired, so that acquire and release never cross
	held    bool
	waiting int // asks that wait for a reply
}

// Acquire waits for the slot until ctx ends. It calls onWait before it has to wait.
func (s *Slot) Acquire(ctx context.Context, onWait func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acquireLocked(ctx, onWait)
}

func (s *Slot) acquireLocked(ctx context.Context, onWait func()) error {
	if s.Pool == nil || s.held {
		return nil
	}
	if s.Pool.TryAcquire(1) {
		s.held = true
		return nil
	}
	onWait()
	err := s.Pool.Acquire(ctx, 1)
	s.held = err == nil
	return err
}

// Release gives the slot up. It does nothing if the slot is not held.
func (s *Slot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked()
}

func (s *Slot) releaseLocked() {
	if s.held {
		s.held = false
		s.Pool.Release(1)
	}
}

// Yield gives the slot up while an ask waits, and then calls report. Several asks may wait at once.
func (s *Slot) Yield(report func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	s.releaseLocked()
	report()
}

// EndYield ends one wait. The end of the last one reacquires the slot, unless ctx ends: recording an outcome needs no
// slot. It calls onWait before it has to wait for the slot, and report at last.
func (s *Slot) EndYield(ctx context.Context, onWait, report func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting--; s.waiting > 0 {
		return
	}
	_ = s.acquireLocked(ctx, onWait)
	report()
}
