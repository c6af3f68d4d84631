package broadcast

import (
	"context"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
)

// DeliveryTracker knows how far each open stream has come, so that a response can wait for the streams. The zero value
// is ready for use. It is safe for concurrent use.
type DeliveryTracker struct {
	mu      sync.Mutex // guards the fields below
	streams map[*Delivery]struct{}
	moved   chan struct{} // closed when a stream moves or closes; nil while Wait has no callers
}

// Delivery is the progress of one stream: everything up to the mark is written to its client.
type Delivery struct{ at eventlog.Mark }

// maxWait bounds Wait: a client that does not read its stream delays no response for longer.
const maxWait = 500 * time.Millisecond

// Open adds a stream that starts at the mark.
func (t *DeliveryTracker) Open(at eventlog.Mark) *Delivery {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.streams == nil {
		t.streams = map[*Delivery]struct{}{}
	}
	d := &Delivery{at}
	t.streams[d] = struct{}{}
	return d
}

// Close removes a stream.
func (t *DeliveryTracker) Close(d *Delivery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.streams, d)
	t.wakeWaiters()
}

// RecordDelivery notes that the stream has written an update to its client.
func (t *DeliveryTracker) RecordDelivery(d *Delivery, u eventlog.Update) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case u.Event != nil:
		d.at.Position = u.Event.Position
	case u.Notice != nil:
		d.at.Notice = u.Notice.Number
	default:
		return
	}
	t.wakeWaiters()
}

// wakeWaiters wakes the callers of Wait. mu is held.
func (t *DeliveryTracker) wakeWaiters() {
	if t.moved != nil {
		close(t.moved)
		t.moved = nil
	}
}

// Wait returns when all open streams have come to the mark, after maxWait at the latest, or when ctx ends.
func (t *DeliveryTracker) Wait(ctx context.Context, to eventlog.Mark) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for {
		moved := t.watchBehind(to)
		if moved == nil {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// watchBehind returns a channel that is closed when a stream moves, or nil if no stream is behind the mark.
func (t *DeliveryTracker) watchBehind(to eventlog.Mark) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	for d := range t.streams {
		if d.at.Position >= to.Position && d.at.Notice >= to.Notice {
			continue
		}
		if t.moved == nil {
			t.moved = make(chan struct{})
		}
		return t.moved
	}
	return nil
}
