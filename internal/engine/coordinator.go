package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// coordinator runs at most one drain per session; (RC-1) to (RC-13) are its rules. Wakes coalesce, callers may join a
// drain, and an interrupt cancels it and waits. The drain function never runs under the mutex.
type coordinator struct {
	drain func(ctx context.Context, id session.ID, mode drainMode) error
	// onIdle runs when a session becomes idle, before its waiters return. It runs under mu and must not call the
	// coordinator.
	onIdle func(id session.ID)
	logger *slog.Logger
	root   context.Context // of all drains; ends when the engine closes
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards entries, closed
	entries map[session.ID]*entry
	closed  bool
}

// drainMode says what a drain does when no prompt is pending.
type drainMode int

const (
	drainPending drainMode = iota // nothing
	drainRepair                   // end what an earlier process left open, and resume nothing
	drainRestart                  // resume the turns that were cut off, as after a restart
	drainForced                   // one turn on the history as it is
)

// entry is one active session. coordinator.mu guards its fields; err is written before done is closed.
type entry struct {
	done      chan struct{}
	err       error
	cancel    context.CancelCauseFunc
	woken     bool
	next      drainMode // of the drain that a wake calls for: the strongest one
	stopping  bool
	boundary  []*boundaryWork
	firstDone chan struct{} // closed when the first work is over and the session is idle or drains; nil without waiter
}

// closeFirst releases the waiter for the first work.
func (e *entry) closeFirst() {
	if e.firstDone != nil {
		close(e.firstDone)
		e.firstDone = nil
	}
}

func newCoordinator(
	drain func(context.Context, session.ID, drainMode) error, onIdle func(session.ID), logger *slog.Logger,
) *coordinator {
	root, cancel := context.WithCancelCause(context.Background())
	return &coordinator{
		drain: drain, onIdle: onIdle, logger: logger, root: root, cancel: cancel, entries: map[session.ID]*entry{},
	}
}

// run drains the session at least once more and returns the outcome: it joins an active drain, starts a forced one
// when idle, and waits out one that is stopping (RC-1 to RC-3). Ending ctx ends the wait only (RC-8).
func (c *coordinator) run(ctx context.Context, id session.ID) error {
	for {
		// Join the active drain, or start one.
		c.mu.Lock()
		e := c.entries[id]
		wasStopping := e != nil && e.stopping
		if e == nil {
			if c.closed {
				c.mu.Unlock()
				return turnlog.ErrShutdown
			}
			e = c.start(id, drainForced)
		}
		c.mu.Unlock()
		// A drain that was stopping already does not count: it may not have read the newest prompt.
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-e.done:
		}
		if !wasStopping {
			return e.err
		}
	}
}

// wake makes a drain read the inbox after this call, starting one if the session is idle. It returns at once (RC-4).
func (c *coordinator) wake(id session.ID, mode drainMode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[id]; e != nil {
		e.woken, e.next = true, max(e.next, mode)
		return
	}
	if !c.closed {
		c.start(id, mode)
	}
}

// start starts a drain of an idle session. mu is held.
func (c *coordinator) start(id session.ID, mode drainMode) *entry {
	return c.startWork(id, c.drainFunc(id, mode))
}

// startWork starts work on an idle session. mu is held.
func (c *coordinator) startWork(id session.ID, do func(context.Context) error) *entry {
	ctx, cancel := context.WithCancelCause(c.root)
	e := &entry{done: make(chan struct{}), cancel: cancel}
	c.entries[id] = e
	c.wg.Go(func() { c.runEntry(ctx, id, e, do) })
	return e
}

// drainFunc returns a drain as a piece of work.
func (c *coordinator) drainFunc(id session.ID, mode drainMode) func(context.Context) error {
	return func(ctx context.Context) error { return c.drain(ctx, id, mode) }
}

// runIdle runs do as the work of an idle session and returns its error. It returns false if the session is not idle.
// Wakes that arrive meanwhile are served afterwards. Ending ctx ends the wait only.
func (c *coordinator) runIdle(ctx context.Context, id session.ID, do func(context.Context) error) (bool, error) {
	c.mu.Lock()
	// Claim the session, so that a wake cannot start a drain beside do.
	if c.closed {
		c.mu.Unlock()
		return false, turnlog.ErrShutdown
	}
	if c.entries[id] != nil {
		c.mu.Unlock()
		return false, nil
	}
	var err error
	e := c.startWork(id, func(ctx context.Context) error {
		err = do(ctx)
		return err
	})
	// Wait for do alone, not for the drains that wakes add after it.
	firstDone := make(chan struct{})
	e.firstDone = firstDone
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-firstDone:
		return true, err
	}
}

// runEntry runs do, then drains until no wake is left (RC-5, RC-6, RC-10).
func (c *coordinator) runEntry(ctx context.Context, id session.ID, e *entry, do func(context.Context) error) {
	for {
		err := c.runGuarded(ctx, id, do)
		c.serveBoundary(id)
		// Under the lock, decide what follows: a wake that came during the work must not be lost.
		c.mu.Lock()
		for len(e.boundary) > 0 { // it came since
			c.mu.Unlock()
			c.serveBoundary(id)
			c.mu.Lock()
		}
		again := err == nil && !e.stopping && e.woken
		if again {
			e.woken, do, e.next = false, c.drainFunc(id, e.next), drainPending
			e.closeFirst()
			c.mu.Unlock()
			runtime.Gosched()
			continue
		}
		// Retire the entry. A wake that a stopping or failed drain did not serve gets an entry of its own.
		delete(c.entries, id)
		if e.woken && !c.closed {
			c.start(id, e.next)
		} else {
			c.onIdle(id)
		}
		// Only now release those who wait: they see the session idle, or the next drain.
		e.err = err
		e.cancel(nil)
		close(e.done)
		e.closeFirst()
		c.mu.Unlock()
		return
	}
}

// runGuarded runs do and turns its panic into an error (RC-13).
func (c *coordinator) runGuarded(ctx context.Context, id session.ID, do func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.logger.Error("drain panicked", "session", id, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("drain of %s panicked: %v", id, p)
		}
	}()
	return do(ctx)
}

// interrupt cancels the session's drain, drops the wakes before it, and waits until the drain has recorded its end
// (RC-7, RC-12). A wake that arrives meanwhile is served afterwards. An idle session stays as it is.
func (c *coordinator) interrupt(ctx context.Context, id session.ID, cause error) error {
	c.mu.Lock()
	e := c.entries[id]
	if e != nil {
		e.stopping, e.woken, e.next = true, false, drainPending
		e.cancel(cause)
	}
	c.mu.Unlock()
	if e == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.done:
		return nil
	}
}

// wait returns when the session is idle, with the error of the last drain that it waited for.
func (c *coordinator) wait(ctx context.Context, id session.ID) error {
	var last error
	for {
		c.mu.Lock()
		e := c.entries[id]
		c.mu.Unlock()
		if e == nil {
			return last
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-e.done:
			last = e.err
		}
	}
}

// listActive returns the sessions that have a drain (RC-11).
func (c *coordinator) listActive() []session.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]session.ID, 0, len(c.entries))
	for id := range c.entries {
		ids = append(ids, id)
	}
	return ids
}

// close cancels all drains and waits for them.
func (c *coordinator) close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	for _, e := range c.entries {
		e.woken = false
	}
	c.mu.Unlock()
	c.cancel(turnlog.ErrShutdown)
	return turnlog.AwaitGroup(ctx, &c.wg)
}
