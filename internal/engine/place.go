package engine

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// place is a drain's place among those that work (Limits.Sessions). A drain that waits for people gives it up, so that
// sessions nobody answers do not keep the others from working.
type place struct {
	mu      sync.Mutex // guards the rest; held while the place is taken again, so that giving and taking never cross
	all     *semaphore.Weighted
	taken   bool
	waiting int // asks that wait for a reply
}

// leave gives the place up for good.
func (p *place) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken {
		p.taken = false
		p.all.Release(1)
	}
}

// aside says that an ask of the drain waits from now on. The first one gives up the place.
func (d *drain) aside(action string) {
	p := &d.place
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	if p.taken {
		p.taken = false
		p.all.Release(1)
	}
	d.statuses.set(d.Engine, d.id, Status{Type: StatusAwaiting, Message: action})
}

// back says that one waits no more. With the last one the drain waits for a place again, unless ctx ends: recording
// how things ended needs none.
func (d *drain) back(ctx context.Context) {
	p := &d.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting--; p.waiting > 0 {
		return
	}
	if p.all != nil && !p.taken {
		p.taken = p.all.Acquire(ctx, 1) == nil
	}
	d.statuses.set(d.Engine, d.id, Status{Type: StatusBusy})
}
