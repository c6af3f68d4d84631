package eventlog

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// feedCache is the newest page of all sessions' events, shared by all readers: one reader reads at a time, and the
// others wait and take its page. A thousand readers cost the store one read per commit on one connection.
type feedCache struct {
	turn   chan struct{} // capacity 1: a lock on the fields below that honors ctx
	after  int64
	events []session.Event // all with position > after up to the last one; shared, never changed
}

func newFeedCache() feedCache { return feedCache{turn: make(chan struct{}, 1)} }

// readFeedPage returns up to page events with position > after, without gap.
func (l *Log) readFeedPage(ctx context.Context, after int64) ([]session.Event, error) {
	// One reader at a time, so that many streams cause one read of a new page.
	s := &l.feedCache
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	// The last page may have what comes next.
	if s.after <= after {
		i, _ := slices.BinarySearchFunc(
			s.events, after+1, func(e session.Event, p int64) int { return int(e.Position - p) },
		)
		if i < len(s.events) {
			return s.events[i:], nil
		}
	}
	// Else read a page, and keep it.
	var rows []store.EventRow
	err := l.store.View(ctx, func(r store.Reader) (err error) {
		rows, err = r.Events("", after, page)
		return err
	})
	events, err := DecodeAll(rows, err)
	if err == nil {
		s.after, s.events = after, events
	}
	return events, l.store.NoteDamage(err)
}
