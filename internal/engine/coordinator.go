package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/session"
)

// coordinator sees to it that a session has at most one drain (spec/v2 §9; the RC numbers name its rules). Wakes
// coalesce; callers may join; an interrupt cancels and waits. User code never runs under the mutex.
type coordinator struct {
	drain  func(ctx context.Context, id session.ID, force force) error
	rest   func(id session.ID) // called once nothing follows, before anybody hears of the end; under mu: it calls nobody back
	logger *slog.Logger
	root   context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards entries, closed
	entries map[session.ID]*entry
	closed  bool
}

// force says what a drain does when no prompt is pending.
type force int

const (
	unforced  force = iota // nothing
	restarted              // what a restart calls for: finish what was begun
	forced                 // one turn on the history as it is
)

// entry is one active session. Its fields are guarded by coordinator.mu; err is written before done is closed.
type entry struct {
	done     chan struct{}
	err      error
	cancel   context.CancelCauseFunc
	woken    bool
	next     force // of the drain that a wake calls for; the strongest
	stopping bool
	passed   chan struct{} // closed when the first work is over and the session rests, or drains; nil: nobody waits for that
}

// pass tells who waits for the first work.
func (e *entry) pass() {
	if e.passed != nil {
		close(e.passed)
		e.passed = nil
	}
}

func newCoordinator(drain func(context.Context, session.ID, force) error, rest func(session.ID), logger *slog.Logger) *coordinator {
	root, cancel := context.WithCancelCause(context.Background())
	return &coordinator{drain: drain, rest: rest, logger: logger, root: root, cancel: cancel, entries: map[session.ID]*entry{}}
}

// run drains the session at least once more and returns the outcome: it joins an active drain, starts a forced one
// when idle, and waits out one that is stopping (RC-1 to RC-3). Ending ctx ends the wait only (RC-8).
func (c *coordinator) run(ctx context.Context, id session.ID) error {
	for {
		c.mu.Lock()
		e := c.entries[id]
		wasStopping := e != nil && e.stopping
		if e == nil {
			if c.closed {
				c.mu.Unlock()
				return cause.ErrShutdown
			}
			e = c.start(id, forced)
		}
		c.mu.Unlock()
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

// wake sees to it that a drain looks at the inbox after now. It returns at once (RC-4).
func (c *coordinator) wake(id session.ID, f force) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[id]; e != nil {
		e.woken, e.next = true, max(e.next, f)
		return
	}
	if !c.closed {
		c.start(id, f)
	}
}

// start begins a drain of an idle session. mu is held.
func (c *coordinator) start(id session.ID, f force) *entry { return c.begin(id, c.drains(id, f)) }

// begin begins work on an idle session. mu is held.
func (c *coordinator) begin(id session.ID, do func(context.Context) error) *entry {
	ctx, cancel := context.WithCancelCause(c.root)
	e := &entry{done: make(chan struct{}), cancel: cancel}
	c.entries[id] = e
	c.wg.Go(func() { c.work(ctx, id, e, do) })
	return e
}

// drains is a drain as work.
func (c *coordinator) drains(id session.ID, f force) func(context.Context) error {
	return func(ctx context.Context) error { return c.drain(ctx, id, f) }
}

// occupy has do be the session's work if it rests, and returns its outcome; false if it does not. Wakes that come meanwhile
// are served behind it. Ending ctx ends the wait only.
func (c *coordinator) occupy(ctx context.Context, id session.ID, do func(context.Context) error) (bool, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false, cause.ErrShutdown
	}
	if c.entries[id] != nil {
		c.mu.Unlock()
		return false, nil
	}
	var err error
	e := c.begin(id, func(ctx context.Context) error {
		err = do(ctx)
		return err
	})
	passed := make(chan struct{})
	e.passed = passed
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-passed:
		return true, err
	}
}

// work does what is to be done, and drains until no wake is left (RC-5, RC-6, RC-10).
func (c *coordinator) work(ctx context.Context, id session.ID, e *entry, do func(context.Context) error) {
	for {
		err := c.guarded(ctx, id, do)
		c.mu.Lock()
		again := err == nil && !e.stopping && e.woken
		if again {
			e.woken, do, e.next = false, c.drains(id, e.next), unforced
			e.pass()
			c.mu.Unlock()
			runtime.Gosched()
			continue
		}
		delete(c.entries, id)
		if e.woken && !c.closed {
			c.start(id, e.next)
		} else {
			c.rest(id)
		}
		e.err = err
		e.cancel(nil)
		close(e.done)
		e.pass()
		c.mu.Unlock()
		return
	}
}

// guarded turns a panic of the work into its failure (RC-13).
func (c *coordinator) guarded(ctx context.Context, id session.ID, do func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.logger.Error("drain panicked", "session", id, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("drain of %s panicked: %v", id, p)
		}
	}()
	return do(ctx)
}

// interrupt cancels the session's drain, forgets the wakes from before, and waits until it has cleaned up (RC-7,
// RC-12). A wake that arrives meanwhile is served afterwards. An idle session is left alone.
func (c *coordinator) interrupt(ctx context.Context, id session.ID, cause error) error {
	c.mu.Lock()
	e := c.entries[id]
	if e != nil {
		e.stopping, e.woken, e.next = true, false, unforced
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

// wait returns when the session is idle, with the outcome of the last drain that it waited for.
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

// active returns the sessions that have a drain (RC-11).
func (c *coordinator) active() []session.ID {
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
	c.cancel(cause.ErrShutdown)
	return awaitAll(ctx, &c.wg)
}

// awaitAll waits for all of the group, unless ctx ends: then the process is about to exit.
func awaitAll(ctx context.Context, wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { // ends with the group
		wg.Wait()
		close(done)
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-done:
		return nil
	}
}
