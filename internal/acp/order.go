package acp

import "context"

// orderSlot is the slot of a request in the order of those that change a session: they take effect in the order of the
// messages, although each is answered in a goroutine of its own.
type orderSlot struct {
	before, mine chan struct{} // closed by release; before is nil for the first request
}

// acquireSlot returns the slot behind all others of the session. Its owner must release it.
func (s *liveSession) acquireSlot() orderSlot {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := orderSlot{s.lastSlot, make(chan struct{})}
	s.lastSlot = o.mine
	return o
}

// wait returns when the requests before have taken effect, or ctx ends.
func (o orderSlot) wait(ctx context.Context) error {
	if o.before == nil {
		return nil
	}
	select {
	case <-o.before:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release lets the next request begin.
func (o orderSlot) release() { close(o.mine) }
