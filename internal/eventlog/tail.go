package eventlog

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Update is one thing a reader is told: exactly one field is set.
type Update struct {
	Event    *session.Event
	Fragment *session.Fragment
	Notice   *Notice
}

// page is how many events are read at once; between pages a reader looks at its ctx.
const page = 256

// Replay yields the session's events with seq > after that exist now, in order, then ends.
func (l *Log) Replay(ctx context.Context, id session.ID, after int64) iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) {
		for {
			events, err := l.read(ctx, id, after)
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if err != nil {
				yield(session.Event{}, err)
				return
			}
			if len(events) < page {
				return
			}
		}
	}
}

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
		f := &follower{log: l, id: id, cursor: after, noticed: noticed, offsets: offsets{}, yield: yield}
		for f.round(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
		}
	}
}

// follower is one reader of a session.
type follower struct {
	log     *Log
	id      session.ID
	cursor  int64
	noticed int64
	live    bool // everything that existed at the start has been read
	offsets offsets
	yield   func(Update, error) bool
}

// round yields all there is to read now. It reports whether the reader wants to go on.
func (f *follower) round(ctx context.Context) bool {
	for ctx.Err() == nil {
		events, err := f.log.next(ctx, f.id, f.cursor, f.live)
		for _, e := range events {
			if !f.event(e) {
				return false
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				f.yield(Update{}, err)
			}
			return false
		}
		if len(events) < page {
			break
		}
	}
	f.live = true
	return f.volatile()
}

func (f *follower) event(e session.Event) bool {
	if part, frag, text := ended(e.Data); part != "" {
		frag.SessionID, frag.PartID, frag.Timestamp = e.SessionID, part, e.Data.Stamp().Timestamp
		if from := f.offsets[part]; (f.live || from > 0) && !rest(f.yield, frag, text, from) {
			return false
		}
		f.offsets[part] = finished
	}
	f.cursor = e.Seq
	return f.yield(Update{Event: &e}, nil)
}

// rest yields what an ended item holds from an offset on.
func rest(yield func(Update, error) bool, frag session.Fragment, text string, from int) bool {
	for from < len(text) {
		f := frag
		f.Offset, f.Delta = from, chunk(text[from:])
		if !yield(Update{Fragment: &f}, nil) {
			return false
		}
		from += len(f.Delta)
	}
	return true
}

func (f *follower) volatile() bool {
	for {
		frags, notices, noticed := f.log.hub.current(f.id, f.cursor, f.offsets, f.noticed)
		f.noticed = noticed
		if !yieldAll(f.yield, frags, notices) {
			return false
		}
		if !slices.ContainsFunc(frags, wasCut) { // what came meanwhile has waked us
			return true
		}
	}
}

// wasCut reports whether the item may hold more than the fragment that was made of it.
func wasCut(f session.Fragment) bool { return len(f.Delta) > maxFragment-utf8.UTFMax }

func yieldAll(yield func(Update, error) bool, frags []session.Fragment, notices []Notice) bool {
	for i := range frags {
		if !yield(Update{Fragment: &frags[i]}, nil) {
			return false
		}
	}
	for i := range notices {
		if !yield(Update{Notice: &notices[i]}, nil) {
			return false
		}
	}
	return true
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

func (l *Log) read(ctx context.Context, id session.ID, after int64) ([]session.Event, error) {
	var rows []store.Row
	err := l.store.View(ctx, func(r store.Reader) (err error) {
		rows, err = r.Events(id, after, page)
		return err
	})
	events, err := decodeAll(rows, err)
	return events, l.store.Noted(err)
}

func decodeAll(rows []store.Row, err error) ([]session.Event, error) {
	events := make([]session.Event, 0, len(rows))
	for _, r := range rows {
		e, derr := Decode(r)
		if derr != nil {
			return events, derr
		}
		events = append(events, e)
	}
	return events, err
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

// Feed yields what happens in all sessions: events with position > after, those that exist and those to come, in the
// order of their commits, and between them live fragments and notices from now on, each notice behind the events that this
// process had committed when it was made. A negative after starts at the
// newest event. It ends with ctx.
func (l *Log) Feed(ctx context.Context, after int64) iter.Seq2[Update, error] {
	return l.feed(ctx, Mark{after, math.MaxInt64})
}

// FeedFrom is Feed from behind a mark, with the notices that were made since.
func (l *Log) FeedFrom(ctx context.Context, at Mark) iter.Seq2[Update, error] { return l.feed(ctx, at) }

func (l *Log) feed(ctx context.Context, at Mark) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		w := newWaiter()
		noticed := min(l.hub.joinFeed(w), at.Notice)
		defer l.hub.leaveFeed(w)
		f := &feeder{log: l, cursor: at.Position, noticed: noticed, offsets: offsets{}, yield: yield}
		if !f.start(ctx) {
			return
		}
		for f.round(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
		}
	}
}

// feeder is one reader of all sessions.
type feeder struct {
	log     *Log
	cursor  int64
	noticed int64
	live    bool // everything that existed at the start has been read
	offsets offsets
	yield   func(Update, error) bool
}

func (f *feeder) start(ctx context.Context) bool {
	if f.cursor >= 0 {
		return true
	}
	f.log.hub.skip(f.offsets) // before the head is read: what opens in between is not skipped
	err := f.log.store.View(ctx, func(r store.Reader) (err error) {
		f.cursor, err = r.FeedHead()
		return err
	})
	if err != nil {
		f.yield(Update{}, err)
	}
	return err == nil
}

func (f *feeder) round(ctx context.Context) bool {
	seen := f.cursor
	for ctx.Err() == nil && f.log.hub.behind(f.cursor) {
		seen = f.log.hub.head() // what is missing up to here then is damaged, and never comes
		events, err := f.log.feedPage(ctx, f.cursor)
		for _, e := range events {
			if !f.event(e) {
				return false
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				f.yield(Update{}, err)
			}
			return false
		}
		if len(events) == 0 {
			break
		}
	}
	return f.volatile(max(seen, f.cursor))
}

func (f *feeder) event(e session.Event) bool {
	notices, noticed := f.log.hub.before(f.noticed, e.Position)
	if f.noticed = noticed; !yieldAll(f.yield, nil, notices) {
		return false
	}
	if part, frag, text := ended(e.Data); part != "" {
		frag.SessionID, frag.PartID, frag.Timestamp = e.SessionID, part, e.Data.Stamp().Timestamp
		if from := f.offsets[part]; (f.live || from > 0) && !rest(f.yield, frag, text, from) {
			return false
		}
		f.offsets[part] = finished
	}
	f.cursor = e.Position
	return f.yield(Update{Event: &e}, nil)
}

// volatile yields what is live behind the events up to seen.
func (f *feeder) volatile(seen int64) bool {
	f.live = true
	for {
		frags, notices, noticed := f.log.hub.volatile(f.cursor, seen, f.offsets, f.noticed)
		f.noticed = noticed
		if !yieldAll(f.yield, frags, notices) {
			return false
		}
		if !slices.ContainsFunc(frags, wasCut) { // what came meanwhile has waked us
			return true
		}
	}
}

func (h *hub) joinFeed(w *waiter) (noticed int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feed[w] = struct{}{}
	w.poke()
	return h.noticed
}

func (h *hub) leaveFeed(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.feed, w)
}

// behind reports whether there may be events behind the cursor. The position of a fresh process is unknown until its
// first commit, so that the first look always reads.
func (h *hub) behind(cursor int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position == 0 || h.position > cursor
}

// head is the position of the newest event that this process knows of.
func (h *hub) head() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position
}

// prune forgets, now and then, the offsets of items that are open no more and whose ending event the reader has read: it
// never asks for them again. mu is held.
func (h *hub) prune(o offsets) {
	if len(o) < maxOffsets {
		return
	}
	open := map[session.PartID]bool{}
	for _, l := range h.sessions {
		for _, it := range l.items {
			open[it.fragment.PartID] = true
		}
	}
	maps.DeleteFunc(o, func(p session.PartID, at int) bool { return at == finished && !open[p] })
}

// skip makes a reader that starts at the newest event see only what open items gain from now on.
func (h *hub) skip(o offsets) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.sessions {
		for _, it := range l.items {
			o[it.fragment.PartID] = len(it.text)
		}
	}
}

// volatile returns the fragments and notices that a feed reader has not seen.
func (h *hub) volatile(cursor, seen int64, o offsets, noticed int64) ([]session.Fragment, []Notice, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var fs []session.Fragment
	for _, l := range h.sessions {
		fs = append(fs, l.fragments(func(it *item) bool { return it.position <= cursor }, o)...)
	}
	h.prune(o)
	notices, noticed := h.unseen(noticed, seen, func(Notice) bool { return true })
	return fs, notices, noticed
}
