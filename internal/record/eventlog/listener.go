package eventlog

import (
	"context"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
)

// Update is one update of a reader: exactly one field is set.
type Update struct {
	Event    *session.Event
	Fragment *session.Fragment
	Notice   *Notice
}

// reader is a reader of one or all sessions: its position, and where its updates go.
type reader struct {
	log     *Log
	cursor  int64 // of the newest event: its seq, or its position
	notice  int64
	live    bool  // everything that existed at the start has been read
	since   int64 // what ends behind it was live when the reader came; 0: not known
	offsets offsets
	yield   func(Update, error) bool
}

// runRounds lets the reader read everything available, and again on each wake-up, until round returns false or ctx
// ends.
func runRounds(ctx context.Context, w *waiter, round func(context.Context) bool) {
	for round(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
	}
}

// yieldEvent yields the event at the cursor, preceded by the rest of its item's text.
func (l *reader) yieldEvent(e session.Event, cursor int64) bool {
	if part, frag, text := endedFragment(e.Data); part != "" {
		frag.SessionID, frag.PartID, frag.Timestamp = e.SessionID, part, e.Data.Stamp().Timestamp
		came := l.live || l.since > 0 && cursor > l.since
		if from := l.offsets[part]; (came || from > 0) && !yieldRest(l.yield, frag, text, from) {
			return false
		}
		l.offsets[part] = finished
	}
	l.cursor = cursor
	return l.yield(Update{Event: &e}, nil)
}

// yieldLive yields live updates: the fragments and notices that current returns, and the number of the newest
// notice.
func (l *reader) yieldLive(current func() ([]session.Fragment, []Notice, int64)) bool {
	l.live = true
	for {
		frags, notices, noticed := current()
		l.notice = noticed
		if !yieldAll(l.yield, frags, notices) {
			return false
		}
		if !slices.ContainsFunc(frags, wasCut) { // what came meanwhile has waked us
			return true
		}
	}
}

// yieldError yields the error unless ctx has ended. It returns false: the reader ends.
func (l *reader) yieldError(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		l.yield(Update{}, err)
	}
	return false
}

// yieldRest yields the text of an ended item from an offset on.
func yieldRest(yield func(Update, error) bool, frag session.Fragment, text string, from int) bool {
	for from < len(text) {
		f := frag
		f.Offset, f.Delta = from, cutFragment(text[from:])
		if !yield(Update{Fragment: &f}, nil) {
			return false
		}
		from += len(f.Delta)
	}
	return true
}

// wasCut reports whether the item may hold more than the fragment.
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

// prune removes, once there are many, the offsets of items that are no longer open and whose end the reader has
// seen. The caller holds mu.
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
