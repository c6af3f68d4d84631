package eventlog

import (
	"context"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// page is the number of events that one read returns; between pages a reader checks its ctx.
const page = 256

// readEvents returns the next page of the session's events with seq > after. At the end of the log it verifies it.
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
