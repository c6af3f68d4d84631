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
		noticed := l.hub.joinSession(id, w)
		defer l.hub.leaveSession(id, w)
		f := &follower{reader{log: l, cursor: after, notice: noticed, offsets: offsets{}, yield: yield}, id}
		runRounds(ctx, w, f.readRound)
	}
}

// follower is a reader of one session.
type follower struct {
	reader
	id session.ID
}

// readRound yields all there is to read now. It reports whether the reader wants to go on.
func (f *follower) readRound(ctx context.Context) bool {
	for ctx.Err() == nil {
		events, err := f.log.nextEvents(ctx, f.id, f.cursor, f.live)
		for _, e := range events {
			if !f.yieldEvent(e, e.Seq) {
				return false
			}
		}
		if err != nil {
			return f.yieldError(ctx, err)
		}
		if len(events) < page {
			break
		}
	}
	return f.yieldLive(func() ([]session.Fragment, []Notice, int64) {
		return f.log.hub.sessionUpdates(f.id, f.cursor, f.offsets, f.notice)
	})
}

// nextEvents returns a page of events behind the cursor, from memory when it is kept there.
func (l *Log) nextEvents(ctx context.Context, id session.ID, cursor int64, live bool) ([]session.Event, error) {
	if live {
		if events, ok := l.hub.recentEvents(id, cursor); ok {
			return events, nil
		}
	}
	return l.readEvents(ctx, id, cursor)
}

func (h *hub) joinSession(id session.ID, w *waiter) (noticed int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.liveSessionOf(id).waiters[w] = struct{}{}
	return h.notice
}

func (h *hub) leaveSession(id session.ID, w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.liveSessionOf(id)
	delete(l.waiters, w)
	if len(l.waiters) == 0 {
		l.recent = nil
	}
	h.dropIdle(id, l)
}

func (h *hub) recentEvents(id session.ID, cursor int64) ([]session.Event, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.liveSessionOf(id).recentAfter(cursor)
}

// sessionUpdates returns what one session's reader has not seen of what is live.
func (h *hub) sessionUpdates(id session.ID, cursor int64, o offsets, noticed int64) ([]session.Fragment, []Notice, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	notices, noticed := h.unseenNotices(noticed, math.MaxInt64, func(n Notice) bool { return n.SessionID == id })
	frags := h.liveSessionOf(id).newFragments(func(it *openItem) bool { return it.started <= cursor }, o)
	h.prune(o)
	return frags, notices, noticed
}
