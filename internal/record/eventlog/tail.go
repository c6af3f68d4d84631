package eventlog

import (
	"context"
	"iter"
	"math"

	"github.com/cairn-dev/cairn/internal/session"
)

// Follow yields the existing and coming events of the session with seq > after, each exactly once and in order, with
// live updates, until ctx ends (which is not an error) or the caller stops. A missing or damaged event is an error,
// never a shorter log. The fragments of an item come between its start and end events, and the session's notices in
// between. A reader that starts in the middle of an item gets the item's text so far as its first fragment. For an item
// whose start the reader saw live, the joined fragments are the text of the end event.
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

// readRound yields everything available now. It reports whether to continue.
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

// nextEvents returns a page of events after the cursor, from memory if they are kept there.
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

// sessionUpdates returns the fragments and notices that a reader of one session has not seen.
func (h *hub) sessionUpdates(
	id session.ID, cursor int64, o offsets, noticed int64,
) ([]session.Fragment, []Notice, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	notices, noticed := h.unseenNotices(noticed, math.MaxInt64, func(n Notice) bool { return n.SessionID == id })
	frags := h.liveSessionOf(id).newFragments(func(it *openItem) bool { return it.started <= cursor }, o)
	h.prune(o)
	return frags, notices, noticed
}
