package eventlog

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// feedCache is the newest page of the feed that a reader has read, for all others who want the same: one reads at a time, the
// others wait for it and take what it read. So a thousand readers cost the store one read for each commit, on one
// connection, and those who do the work find a connection free.
type feedCache struct {
	turn   chan struct{} // capacity 1; who is in it may use the rest
	after  int64
	events []session.Event // all with position > after, up to the last one; shared, and never changed
}

func newFeedCache() feedCache { return feedCache{turn: make(chan struct{}, 1)} }

// readFeedPage returns events with position > after, at most page, without gap: none if there are none yet.
func (l *Log) readFeedPage(ctx context.Context, after int64) ([]session.Event, error) {
	s := &l.feedCache
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if s.after <= after {
		i, _ := slices.BinarySearchFunc(s.events, after+1, func(e session.Event, p int64) int { return int(e.Position - p) })
		if i < len(s.events) {
			return s.events[i:], nil
		}
	}
	var rows []store.EventRow
	err := l.store.View(ctx, func(r store.Reader) (err error) {
		rows, err = r.Events("", after, page)
		return err
	})
	events, err := decodeAll(rows, err)
	if err == nil {
		s.after, s.events = after, events
	}
	return events, l.store.NoteDamage(err)
}
