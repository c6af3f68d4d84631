package engine

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// boundaryWork is a function that waits for the boundary between two turns of a session that works.
type boundaryWork struct {
	do   func(context.Context) error
	err  error         // written before done is closed
	done chan struct{} // closed when do has returned
}

// runAtBoundary runs do while no turn of the session runs: at once if the session is idle, else between two turns or
// after the last one. It returns the error of do. If ctx ends before do has begun, do does not run.
func (c *coordinator) runAtBoundary(ctx context.Context, id session.ID, do func(context.Context) error) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return turnlog.ErrShutdown
	}
	w := &boundaryWork{do: do, done: make(chan struct{})}
	e := c.entries[id]
	if e == nil {
		e = c.startWork(id, func(context.Context) error { return nil }) // runEntry serves the boundary after it
	}
	e.boundary = append(e.boundary, w)
	c.mu.Unlock()
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
	}
	if c.withdrawBoundary(id, w) {
		return context.Cause(ctx)
	}
	<-w.done // it has begun, and its outcome counts
	return w.err
}

// withdrawBoundary removes work that has not begun. It reports whether it did.
func (c *coordinator) withdrawBoundary(id session.ID, w *boundaryWork) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[id]
	if e == nil {
		return false
	}
	i := slices.Index(e.boundary, w)
	if i >= 0 {
		e.boundary = slices.Delete(e.boundary, i, i+1)
	}
	return i >= 0
}

// serveBoundary runs the work that waits for a boundary of the session. The drain calls it between two turns.
func (c *coordinator) serveBoundary(id session.ID) {
	for {
		c.mu.Lock()
		e := c.entries[id]
		if e == nil || len(e.boundary) == 0 {
			c.mu.Unlock()
			return
		}
		w := e.boundary[0]
		e.boundary = e.boundary[1:]
		c.mu.Unlock()
		w.err = c.runGuarded(c.root, id, w.do) // an interrupt of the session does not end it
		close(w.done)
	}
}
