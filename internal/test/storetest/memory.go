package storetest

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// Memory is a store in memory that keeps every promise of package store but one: nothing outlives the process. It
// passes the same exam as the databases do. It starts no goroutine and does no I/O, and waiting for it blocks durably,
// so that it can be used inside and outside of synctest bubbles.
//
// A Relaxed commit is lost by Crash unless a Durable one followed.
type Memory struct {
	mu      sync.Mutex // guards the rest; not held while a transaction's function runs
	changed *sync.Cond // on mu
	now     *state     // what was committed last
	durable *state     // what a power cut leaves
	writing bool
	reading int
	closed  bool
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return openMemory(&state{}) }

func openMemory(s *state) *Memory {
	m := &Memory{now: s, durable: s}
	m.changed = sync.NewCond(&m.mu)
	return m
}

// Update implements store.Store.
func (m *Memory) Update(ctx context.Context, d store.Durability, f func(store.Tx) error) error {
	base, err := m.begin(ctx)
	if err != nil {
		return err
	}
	var next *state
	defer func() { m.endWrite(next, d) }() // also when f ends its goroutine
	t := newTx(base)
	defer func() { *t = *newTx(&state{}) }() // what f kept does no harm
	if err := callGuarded(func() error { return f(t) }); err != nil {
		return err
	}
	next = t.s
	return nil
}

// begin waits until no other transaction writes.
func (m *Memory) begin(ctx context.Context) (*state, error) {
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})
	defer stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.writing && !m.closed && ctx.Err() == nil {
		m.changed.Wait()
	}
	switch {
	case m.closed:
		return nil, errClosed()
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	m.writing = true
	return m.now, nil
}

// endWrite installs the new state, if any, and lets the next transaction begin.
func (m *Memory) endWrite(next *state, d store.Durability) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if next != nil {
		m.now = next
		if d == store.Durable {
			m.durable = next
		}
	}
	m.writing = false
	m.changed.Broadcast()
}

// View implements store.Store.
func (m *Memory) View(ctx context.Context, f func(store.Reader) error) error {
	m.mu.Lock()
	s, closed := m.now, m.closed
	if closed || ctx.Err() != nil {
		m.mu.Unlock()
		if closed {
			return errClosed()
		}
		return context.Cause(ctx)
	}
	m.reading++
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.reading--
		m.changed.Broadcast()
	}()
	return callGuarded(func() error { return f(reader{s}) })
}

// Close implements store.Store. Reopen returns a store with the data.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.changed.Broadcast()
	for m.writing || m.reading > 0 {
		m.changed.Wait()
	}
	return nil
}

// Crash simulates a power cut: Relaxed commits that no Durable commit followed are lost. It waits for a running
// transaction. The store can be used afterwards, as by the next process.
func (m *Memory) Crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.writing {
		m.changed.Wait()
	}
	m.now = m.durable.detach()
	m.durable = m.now
}

// Reopen closes the store and returns a new one with the same data, so that users of the old one get
// ErrUnavailable.
func (m *Memory) Reopen() *Memory {
	_ = m.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	n := openMemory(m.now)
	n.durable = m.durable
	return n
}

func errClosed() error { return fmt.Errorf("%w: closed", store.ErrUnavailable) }

// callGuarded turns a panic of f into an error.
func callGuarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in transaction: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
