package engine

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/tool"
)

// place is one place among those that work: a drain's (Limits.Sessions) or a call's (Limits.Tools). Who waits for people
// gives it up, so that what nobody answers does not keep the others from working.
//
// A call takes its drain's place back before its own, and gives its own up first: who waits for a drain's place holds
// none that another drain could wait for.
type place struct {
	mu      sync.Mutex // guards the rest; held while the place is taken again, so that giving and taking never cross
	all     *semaphore.Weighted
	taken   bool
	waiting int // asks that wait for a reply
}

// take waits for the place, unless ctx ends; before it has to wait it calls full.
func (p *place) take(ctx context.Context, full func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acquire(ctx, full)
}

// acquire is take with mu held.
func (p *place) acquire(ctx context.Context, full func()) error {
	if p.all == nil || p.taken {
		return nil
	}
	if p.all.TryAcquire(1) {
		p.taken = true
		return nil
	}
	full()
	err := p.all.Acquire(ctx, 1)
	p.taken = err == nil
	return err
}

// leave gives the place up.
func (p *place) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
}

// release is leave with mu held.
func (p *place) release() {
	if p.taken {
		p.taken = false
		p.all.Release(1)
	}
}

// aside says that an ask, of a call or of the drain itself (c is nil), waits from now on. The first one gives up the
// drain's place.
func (d *drain) aside(c *call, action string) {
	if c != nil {
		c.place.leave()
	}
	p := &d.place
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	p.release()
	status := StatusAwaiting
	if action == tool.ActionQuestion {
		status = StatusQuestion
	}
	d.statuses.set(d.Engine, d.id, Status{Type: status, Message: action})
}

// back says that one waits no more. With the last one the drain waits for a place again, and the call for its own,
// unless ctx ends: recording how things ended needs none.
func (d *drain) back(ctx context.Context, c *call) {
	d.atWork(ctx)
	if c != nil {
		_ = c.place.take(ctx, func() {})
	}
}

// atWork takes the drain's place back once no ask of it waits.
func (d *drain) atWork(ctx context.Context) {
	p := &d.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting--; p.waiting > 0 {
		return
	}
	_ = p.acquire(ctx, func() { d.statuses.set(d.Engine, d.id, Status{Type: StatusQueued}) })
	d.statuses.set(d.Engine, d.id, Status{Type: StatusBusy})
}
