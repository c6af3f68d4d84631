package extension

import (
	"context"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxEvents bounds the events that wait in a Notifier.
const maxEvents = 256

// Notifier tells extensions of events in the background: those of one session one after the other, in their order. The
// zero value is ready to use. Safe for concurrent use.
type Notifier struct {
	mu      sync.Mutex                   // guards the rest
	waiting map[session.ID][]queuedEvent // a session that has an entry has a goroutine
	count   int
	dropped int64
	closed  bool
	running sync.WaitGroup
	cancel  map[session.ID]context.CancelFunc // of the goroutines
}

type queuedEvent struct {
	chain *Chain
	event Event
}

// Notify tells the extensions of the chain of the event. Events of a Notifier that is closed, or that has too many, are
// dropped: nothing depends on them.
func (n *Notifier) Notify(c *Chain, e Event) {
	if !hasAny(c.Begin(), eventOf) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || n.count >= maxEvents {
		n.dropped++
		c.config.Logger.Warn("extensions are not told of an event", "event", e.Type, "session", e.SessionID)
		return
	}
	if n.waiting == nil {
		n.waiting = map[session.ID][]queuedEvent{}
		n.cancel = map[session.ID]context.CancelFunc{}
	}
	n.count++
	queue, isRunning := n.waiting[e.SessionID]
	n.waiting[e.SessionID] = append(queue, queuedEvent{c, e})
	if isRunning {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel[e.SessionID] = cancel
	n.running.Go(func() {
		defer cancel()
		n.deliver(ctx, e.SessionID)
	})
}

// CountDropped returns how many events were dropped.
func (n *Notifier) CountDropped() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dropped
}

// deliver delivers the events of a session until none waits.
func (n *Notifier) deliver(ctx context.Context, id session.ID) {
	for {
		n.mu.Lock()
		queue := n.waiting[id]
		if len(queue) == 0 {
			delete(n.waiting, id)
			delete(n.cancel, id)
			n.mu.Unlock()
			return
		}
		next := queue[0]
		n.waiting[id] = queue[1:]
		n.count--
		n.mu.Unlock()
		_, _ = call(ctx, next.chain.Begin(), PointEvent, &next.event, eventOf) // failures are logged
	}
}

// Close accepts no more events and returns when the accepted ones are delivered. When ctx ends it stops the functions
// that still run.
func (n *Notifier) Close(ctx context.Context) error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	done := make(chan struct{})
	go func() {
		n.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.waiting)
	for _, cancel := range n.cancel {
		cancel()
	}
	return context.Cause(ctx)
}

func eventOf(e *Extension) func(context.Context, *Event) error { return e.Event }
