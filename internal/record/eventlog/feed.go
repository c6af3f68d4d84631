package eventlog

import (
	"context"
	"iter"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// FollowAll yields the updates of all sessions since the mark until ctx ends: the existing and coming events in the
// order of their commits, and between them live fragments, the notices made since, and the text of items that ended
// since. Each notice follows the events that this process had committed when the notice was made. A negative position
// starts after the newest event.
func (l *Log) FollowAll(ctx context.Context, at Mark) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		w := newWaiter()
		noticed := min(l.hub.joinFeed(w), at.Notice)
		defer l.hub.leaveFeed(w)
		f := &feeder{
			reader{log: l, cursor: at.Position, notice: noticed, since: at.Since, offsets: offsets{}, yield: yield},
		}
		if at.LiveEnd {
			l.hub.skip(f.offsets)
		}
		if f.start(ctx) {
			runRounds(ctx, w, f.readRound)
		}
	}
}

// feeder is a reader of all sessions.
type feeder struct{ reader }

func (f *feeder) start(ctx context.Context) bool {
	if f.cursor >= 0 {
		return true
	}
	f.log.hub.skip(f.offsets) // before the head is read, so that items that start in between are not skipped
	err := f.log.store.View(ctx, func(r store.Reader) (err error) {
		f.cursor, err = r.Head("")
		return err
	})
	if err != nil {
		f.yield(Update{}, err)
	}
	return err == nil
}

// readRound yields what has happened since the cursor. It returns false if the reader stops.
func (f *feeder) readRound(ctx context.Context) bool {
	seen := f.cursor
	// Yield the stored events up to the newest.
	for ctx.Err() == nil && f.log.hub.hasEventsAfter(f.cursor) {
		seen = f.log.hub.newestPosition() // events missing up to here are damaged and never come
		events, err := f.log.readFeedPage(ctx, f.cursor)
		for _, e := range events {
			if !f.yieldWithNotices(e) {
				return false
			}
		}
		if err != nil {
			return f.yieldError(ctx, err)
		}
		if len(events) == 0 {
			break
		}
	}
	// Then the live updates, which belong after them.
	seen = max(seen, f.cursor)
	return f.yieldLive(func() ([]session.Fragment, []Notice, int64) {
		return f.log.hub.feedUpdates(f.cursor, seen, f.offsets, f.notice)
	})
}

// yieldWithNotices yields the notices that precede the event, then the event.
func (f *feeder) yieldWithNotices(e session.Event) bool {
	notices, noticed := f.log.hub.noticesBefore(f.notice, e.Position)
	f.notice = noticed
	return yieldAll(f.yield, nil, notices) && f.yieldEvent(e, e.Position)
}

func (h *hub) joinFeed(w *waiter) (noticed int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feed[w] = struct{}{}
	w.signal()
	return h.notice
}

func (h *hub) leaveFeed(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.feed, w)
}

// hasEventsAfter reports whether there may be events after the cursor. Before the first commit of this process the
// newest position is unknown, so it reports true.
func (h *hub) hasEventsAfter(cursor int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position == 0 || h.position > cursor
}

// newestPosition returns the position of the newest event that this process knows.
func (h *hub) newestPosition() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position
}

// skip sets the offsets of a reader that starts after the newest event to the ends of the open items, so that it
// gets only new text.
func (h *hub) skip(o offsets) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.sessions {
		for _, it := range l.items {
			o[it.fragment.PartID] = len(it.text)
		}
	}
}

// feedUpdates returns the fragments and notices that a reader of all sessions has not seen.
func (h *hub) feedUpdates(cursor, seen int64, o offsets, noticed int64) ([]session.Fragment, []Notice, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var fs []session.Fragment
	for _, l := range h.sessions {
		fs = append(fs, l.newFragments(func(it *openItem) bool { return it.position <= cursor }, o)...)
	}
	h.prune(o)
	notices, noticed := h.unseenNotices(noticed, seen, func(Notice) bool { return true })
	return fs, notices, noticed
}
