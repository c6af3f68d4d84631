package v1

import (
	"context"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/eventlog"
)

// handed knows how far each open stream has come, so that an answer can follow what the streams say. The zero value is ready;
// safe for concurrent use.
type handed struct {
	mu      sync.Mutex // guards the rest
	streams map[*reach]struct{}
	moved   chan struct{} // closed when a stream moves or ends; nil while nobody waits
}

// reach is how far one stream has come: what is behind it has been written to its client.
type reach struct{ at eventlog.Mark }

// handedWithin bounds the wait for streams: one whose client does not read holds up no answer for longer.
const handedWithin = 500 * time.Millisecond

func (h *handed) open(at eventlog.Mark) *reach {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams == nil {
		h.streams = map[*reach]struct{}{}
	}
	r := &reach{at}
	h.streams[r] = struct{}{}
	return r
}

func (h *handed) close(r *reach) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, r)
	h.tell()
}

// note says that the stream has written what there was to say of the update.
func (h *handed) note(r *reach, u eventlog.Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case u.Event != nil:
		r.at.Position = u.Event.Position
	case u.Notice != nil:
		r.at.Notice = u.Notice.Number
	default:
		return
	}
	h.tell()
}

// tell wakes who waits. mu is held.
func (h *handed) tell() {
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// await returns when all streams that are open have come to the mark, at the latest after handedWithin, or when ctx ends.
func (h *handed) await(ctx context.Context, to eventlog.Mark) {
	ctx, cancel := context.WithTimeout(ctx, handedWithin)
	defer cancel()
	for {
		moved := h.behind(to)
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

// behind returns what is closed when a stream moves; nil if none is behind the mark.
func (h *handed) behind(to eventlog.Mark) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.streams {
		if r.at.Position >= to.Position && r.at.Notice >= to.Notice {
			continue
		}
		if h.moved == nil {
			h.moved = make(chan struct{})
		}
		return h.moved
	}
	return nil
}
