package eventlog

import (
	"context"

	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// LogWriter inserts the events of sessions that come from other stores, in the transaction of ImportLogs.
type LogWriter struct {
	Tx store.Tx

	log  *Log
	rows *projection.Batch
	at   session.ID                   // of the event that was inserted last
	last map[session.ID]session.Event // the newest event of each session
}

// Insert inserts an event as it is, with its rows. The events of one session follow one another, in their order.
func (w *LogWriter) Insert(row store.EventRow) error {
	e, err := Decode(row)
	if err != nil {
		return err
	}
	if w.at != e.SessionID { // a batch holds the row of one session, and a new one takes its place
		if err := w.Flush(); err != nil {
			return err
		}
		w.at = e.SessionID
	}
	if err := w.rows.Apply(e); err != nil {
		return err
	}
	if e.Position, err = w.Tx.InsertEvent(row); err != nil {
		return err
	}
	w.last[e.SessionID] = e
	return nil
}

// Append inserts an event of this store behind the session's newest one.
func (w *LogWriter) Append(id session.ID, d Draft) error {
	row, err := Encode(w.log.newEvent(id, w.last[id].Seq+1, d))
	if err != nil {
		return err
	}
	return w.Insert(row)
}

// Flush writes the rows that wait for further events of a turn, so that Tx reads what the events mean.
func (w *LogWriter) Flush() error { return w.rows.Flush() }

// ImportLogs commits what write inserts, all of it or nothing. write may run more than once. Only the engine calls it.
func (l *Log) ImportLogs(ctx context.Context, write func(*LogWriter) error) error {
	var last map[session.ID]session.Event
	err := l.store.Update(ctx, store.Durable, func(tx store.Tx) error {
		w := &LogWriter{Tx: tx, log: l, rows: projection.NewBatch(tx), last: map[session.ID]session.Event{}}
		last = w.last
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	})
	if err != nil {
		return err
	}
	// Committed: streams read the events from the store, so the newest one of each session is enough to wake them.
	for id, e := range last {
		l.rows.dropRow(id)
		l.hub.addCommitted([]session.Event{e})
	}
	return nil
}
