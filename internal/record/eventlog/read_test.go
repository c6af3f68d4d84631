package eventlog

import (
	"context"
	"iter"

	"github.com/cairn-dev/cairn/internal/session"
)

// ReplayEvents yields the existing events of the session with seq > after, page by page as Follow reads them.
func ReplayEvents(ctx context.Context, l *Log, id session.ID, after int64) iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) {
		for {
			events, err := l.readEvents(ctx, id, after)
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

// tailEvents yields the events of Follow without its live updates.
func tailEvents(ctx context.Context, l *Log, id session.ID, after int64) iter.Seq2[session.Event, error] {
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
