package eventlog

import (
	"context"
	"iter"
	"math"

	"github.com/cairn-dev/cairn/internal/session"
)

// Tail yields the session's events with seq > after, those that exist and then those to come, each exactly once and in
// order, until ctx ends (which is no error) or the reader stops.
func (l *Log) Tail(ctx context.Context, id session.ID, after int64) iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) {
		for u, err := range l.Follow(ctx, id, after) {
			if err != nil {
				yield(session.Event{}, err)
				return
			}
			if u.Event != nil && !yield(*u.Event, nil) {
				return
			}
		}
	}
}

// Follow is Tail with live text: between the event that starts an item and the one that ends it come the item's
// fragments, and in between the session's notices. A reader that begins in the middle of an item gets what the item
// holds so far as its first fragment. The fragments of an item, joined, are the text of its ending event for every item
// that the reader saw start live.
func (l *Log) Follow(ctx context.Context, id session.ID, after int64) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		w := newWaiter()
		noticed := l.hub.join(id, w)
		defer l.hub.leave(id, w)
		f := &follower{listener{log: l, cursor: after, noticed: noticed, offsets: offsets{}, yield: yield}, id}
		rounds(ctx, w, f.round)
	}
}

// follower is a reader of one session.
type follower struct {
	listener
	id session.ID
}

// round yields all there is to read now. It reports whether the reader wants to go on.
func (f *follower) round(ctx context.Context) bool {
	for ctx.Err() == nil {
		events, err := f.log.next(ctx, f.id, f.cursor, f.live)
		for _, e := range events {
			if !f.event(e, e.Seq) {
				return false
			}
		}
		if err != nil {
			return f.fails(ctx, err)
		}
		if len(events) < page {
			break
		}
	}
	return f.volatile(func() ([]session.Fragment, []Notice, int64) {
		return f.log.hub.current(f.id, f.cursor, f.offsets, f.noticed)
	})
}

// next returns a page of events behind the cursor, from memory when it is kept there.
func (l *Log) next(ctx context.Context, id session.ID, cursor int64, live bool) ([]session.Event, error) {
	if live {
		if events, ok := l.hub.recent(id, cursor); ok {
			return events, nil
		}
	}
	return l.read(ctx, id, cursor)
}

func (h *hub) join(id session.ID, w *waiter) (noticed int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live(id).waiters[w] = struct{}{}
	return h.noticed
}

func (h *hub) leave(id session.ID, w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.live(id)
	delete(l.waiters, w)
	if len(l.waiters) == 0 {
		l.recent = nil
	}
	h.tidy(id, l)
}

func (h *hub) recent(id session.ID, cursor int64) ([]session.Event, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live(id).after(cursor)
}

// current returns what one session's reader has not seen of what is live.
func (h *hub) current(id session.ID, cursor int64, o offsets, noticed int64) ([]session.Fragment, []Notice, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	notices, noticed := h.unseen(noticed, math.MaxInt64, func(n Notice) bool { return n.SessionID == id })
	frags := h.live(id).fragments(func(it *item) bool { return it.started <= cursor }, o)
	h.prune(o)
	return frags, notices, noticed
}
