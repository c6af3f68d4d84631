package sqlite

import "fmt"

// The write-ahead log is copied into the database by the writer, between batches: no new frame is written meanwhile,
// so that the log is whole in the database and starts over, unless a reader still needs it.
const (
	pageSize      = 1024
	pagesIdle     = 8000  // copied when nobody waits; a page of an index that grows is copied once for many that were logged
	pagesBusy     = 16000 // copied although somebody waits
	pagesForced   = 64000 // the log is this long and readers keep it: wait for them
	pagesPerOp    = 6     // what a small transaction writes
	pagesPerBatch = 2
)

// estimatePages adds to pages what the batch wrote.
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
	w.pages = 0 // if it failed, it is tried again when as much has been written once more
	if err == nil {
		w.pages = min(log-copied, pagesIdle/2)
	} else if isUncertain(err) { // a sync of the log is part of it: what was committed before may be in memory only
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
