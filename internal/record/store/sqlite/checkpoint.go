package sqlite

import (
	"errors"
	"fmt"
	"time"
)

// The writer copies the write-ahead log into the database, between batches: no new frame is written meanwhile, so
// the complete log is copied and starts over, unless a reader still needs it.
const (
	pageSize      = 1024
	pagesIdle     = 8000  // copied while no transaction waits: one copy of a page replaces many frames
	pagesBusy     = 16000 // copied even if transactions wait
	pagesForced   = 64000 // so long a log is copied after waiting for readers
	pagesPerOp    = 6     // pages of a small transaction
	pagesPerBatch = 2
)

// estimatePages adds the pages that the batch wrote.
func (w *writer) estimatePages() {
	written := w.conn.BytesBound()
	w.pages += pagesPerBatch + pagesPerOp*int64(len(w.batch.ops)) + (written-w.written)*5/4/pageSize
	w.written = written
}

// checkpoint copies the log if it is long enough.
func (w *writer) checkpoint() {
	if w.conn == nil || w.pages < pagesIdle || (w.pages < pagesBusy && (len(w.queue) > 0 || w.held != nil)) {
		return
	}
	log, copied, err := checkpoint(w.conn, "PASSIVE")
	if err == nil && log >= pagesForced && copied < log {
		log, copied, err = checkpoint(w.conn, "RESTART")
	}
	w.pages = 0 // after a failure, it is tried again once as much has been written
	if err == nil {
		w.pages = min(log-copied, pagesIdle/2)
	} else if isUncertain(err) { // a failed sync: earlier commits may be in memory only
		w.suspect = true
	}
}

// purgePause is how long the writer must be idle before it empties the log after the deletion of a session, and the time
// between two attempts.
const purgePause = 50 * time.Millisecond

// purgeLog empties the log, so that nothing is left in it of a deleted session. It waits for no reader: while one holds the log,
// purge stays set.
func (w *writer) purgeLog() {
	if w.conn == nil {
		return // the next batch opens the database again
	}
	err := w.conn.Exec("PRAGMA busy_timeout = 0")
	if err == nil {
		err = w.flush()
		err = errors.Join(err, w.conn.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds())))
	}
	switch {
	case err == nil:
		w.purge, w.pages = false, 0
	case isUncertain(err): // a failed sync, as in checkpoint
		w.suspect = true
	}
}

// flush copies the whole log and empties it.
func (w *writer) flush() error {
	log, copied, err := checkpoint(w.conn, "TRUNCATE")
	if err == nil && log != copied {
		err = fmt.Errorf("%d of %d pages of the log copied: readers hold it", copied, log)
	}
	return err
}

// checkpoint returns the length of the log in pages and how many of them are in the database.
func checkpoint(c dbConn, mode string) (log, copied int64, err error) {
	busy := int64(0)
	err = query(c, "PRAGMA wal_checkpoint("+mode+")", func(r row) {
		busy, log, copied = r.Int(0), r.Int(1), r.Int(2)
	})
	if err == nil && busy != 0 && mode == "TRUNCATE" {
		err = fmt.Errorf("readers hold the log")
	}
	return log, copied, err
}
