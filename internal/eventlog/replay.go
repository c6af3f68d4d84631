package eventlog

import (
	"context"
	"iter"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// page is the number of events that one read returns; between pages a reader checks its ctx.
const page = 256

// Replay yields the existing events of the session with seq > after, in order. A missing or damaged one is
// an error, never a shorter log.
func (l *Log) Replay(ctx context.Context, id session.ID, after int64) iter.Seq2[session.Event, error] {
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

func (l *Log) readEvents(ctx context.Context, id session.ID, after int64) ([]session.Event, error) {
	var rows []store.EventRow
	err := l.store.View(ctx, func(r store.Reader) (err error) {
		if rows, err = r.Events(id, after, page); err == nil && len(rows) < page {
			err = l.VerifyTail(r, id)
		}
		return err
	})
	events, err := DecodeAll(rows, err)
	return events, l.store.NoteDamage(err)
}
