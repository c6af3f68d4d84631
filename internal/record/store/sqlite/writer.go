package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlstore"
)

const (
	maxBatch = 256  // transactions that share one commit
	maxQueue = 1024 // waiting transactions; more wait to enter the queue
)

// writer runs all transactions of a store, one after the other, on one connection. Transactions that wait at the
// same time share one commit (group commit): each runs in a savepoint, and all are answered after the commit. A
// batch is synced if one of its transactions is Durable.
//
// Only the goroutine of run uses the fields below queue.
type writer struct {
	open     func() (dbConn, error)
	queue    chan *op
	done     chan struct{} // closed when run has ended
	identity *fileIdentity
	commits  *commitFile // nil: commits are not recorded

	conn    dbConn // nil after a failure, until it is opened again
	held    *op    // taken from the queue for the next batch
	synced  bool   // the connection's commits are synced
	suspect bool   // a sync failed: earlier commits may be in memory only
	pages   int64  // estimate of what the log holds and the database does not
	// startedWithLog: an earlier process left a log, so purge is set at the start.
	startedWithLog bool
	purge          bool  // the log may have pages of a deleted session
	written        int64 // conn.Written at the last estimate
	batch          batch
}

// op is one transaction and its answer.
type op struct {
	durable bool
	f       func(store.Tx) error
	alone   func(dbConn) error // runs outside of a transaction, instead of f
	state   atomic.Int32
	answer  chan error // of capacity 1
}

const (
	opQueued int32 = iota
	opBegun
	opAbandoned // by its caller
)

// batch is the transaction of the database that is running.
type batch struct {
	begun bool
	sync  bool
	ops   []*op // succeeded and waiting for the commit
	size  int   // all ops of the batch
	last  int64 // position of the newest event of ops, 0 without one
	at    *op   // running
}

func newWriter(conn dbConn, open func() (dbConn, error), at *fileIdentity) *writer {
	return &writer{open: open, conn: conn, identity: at, queue: make(chan *op, maxQueue), done: make(chan struct{})}
}

// update passes f to the writer and waits for the answer. ctx counts until f begins.
func (w *writer) update(ctx context.Context, d store.Durability, f func(store.Tx) error) error {
	return w.await(ctx, &op{durable: d == store.Durable, f: f, answer: make(chan error, 1)})
}

// await passes an op to the writer and waits for the answer.
func (w *writer) await(ctx context.Context, o *op) error {
	select {
	case w.queue <- o:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-o.answer:
		return err
	case <-ctx.Done():
		if o.state.CompareAndSwap(opQueued, opAbandoned) {
			return context.Cause(ctx)
		}
		return <-o.answer
	}
}

// run serves the queue until it is closed.
func (w *writer) run() {
	clean := false
	defer func() {
		if !clean { // a transaction's function ended this goroutine; start another
			w.abandonOp()
			go w.run()
		}
	}()
	for {
		o, ok := w.next()
		if !ok {
			break
		}
		if o.alone != nil {
			w.serveAlone(o)
		} else {
			w.serve(o)
		}
		w.checkpoint()
	}
	clean = true
	// Empty the record before SQLite removes the log. After the loss of the lease the record stays: the next owner may
	// have written it. If it cannot be emptied, the connection stays open, so that the log stays, too.
	if w.conn != nil && (w.identity.checkLease() != nil || w.commits.empty() == nil) {
		_ = w.conn.Close()
	}
	close(w.done)
}

func (w *writer) next() (*op, bool) {
	if o := w.held; o != nil {
		w.held = nil
		return o, true
	}
	for w.purge {
		select {
		case o, ok := <-w.queue:
			return o, ok
		case <-time.After(purgePause):
			w.purgeLog()
		}
	}
	o, ok := <-w.queue
	return o, ok
}

// nextWaiting returns a waiting op, nil if no op waits, the batch is full, or the next op runs alone.
func (w *writer) nextWaiting() *op {
	if w.batch.size >= maxBatch || w.held != nil {
		return nil
	}
	select {
	case o := <-w.queue: // nil if closed
		if o != nil && o.alone != nil {
			w.held = o
			return nil
		}
		return o
	default:
		return nil
	}
}

// serve runs a batch that starts with first, including ops that arrive while it runs. The first ops decide whether the
// batch is synced. An op that arrives later and demands a sync which the batch does not make begins the next batch.
func (w *writer) serve(first *op) {
	// Take the ops that wait now, and decide whether to sync.
	w.batch = batch{ops: w.batch.ops[:0], size: 1}
	taken := []*op{first}
	for o := w.nextWaiting(); o != nil; o = w.nextWaiting() {
		taken = append(taken, o)
		w.batch.size++
	}
	for _, o := range taken {
		w.batch.sync = w.batch.sync || o.durable
	}
	// Run them, then those that arrived meanwhile.
	if err := w.ensureConn(); err != nil {
		for _, o := range taken {
			o.answer <- err
		}
		return
	}
	for _, o := range taken {
		w.execute(o)
	}
	for o := w.nextWaiting(); o != nil; o = w.nextWaiting() {
		if o.durable && !w.batch.sync {
			w.held = o
			break
		}
		w.batch.size++
		w.execute(o)
	}
	w.commit()
}

// ensureConn ensures a reliable connection, to files that still exist under their names, with the synchronous
// setting of the batch.
func (w *writer) ensureConn() error {
	if w.conn == nil {
		conn, err := w.open()
		if err != nil {
			return newUnavailable("reopen database: %w", err)
		}
		w.conn, w.synced, w.written = conn, false, 0
		w.identity.refreshLog()
	}
	if err := w.identity.check(); err != nil {
		return err
	}
	if w.suspect {
		// The kernel may have dropped pages that it could not write and may not report that again. Copying the log
		// into the database writes them anew and syncs.
		if err := w.flush(); err != nil {
			return newUnavailable("an earlier sync failed and the log cannot be written again: %w", err)
		}
		w.suspect = false
	}
	if w.synced == w.batch.sync {
		return nil
	}
	level := "NORMAL"
	if w.batch.sync {
		level = "FULL"
	}
	if err := w.conn.Exec("PRAGMA synchronous = " + level); err != nil {
		return newUnavailable("set synchronous: %w", err)
	}
	w.synced = w.batch.sync
	return nil
}

// execute runs one transaction within the batch.
func (w *writer) execute(o *op) {
	if !o.state.CompareAndSwap(opQueued, opBegun) {
		return
	}
	// The first op of a batch begins the transaction, later ones a savepoint in it.
	b := &w.batch
	b.at = o
	nested := len(b.ops) > 0 // a single op is undone with the whole transaction
	if err := w.begin(nested); err != nil {
		w.undoOp(o, newUnavailable("begin: %w", err))
		return
	}
	// Run it, then keep it in the batch or undo it alone, unless SQLite has rolled back the whole batch.
	tx := sqlstore.NewTx(w.conn)
	err := call(o.f, store.Tx(tx))
	tx.End()
	b.at = nil
	switch {
	case !w.conn.InTransaction(): // SQLite rolled back everything
		if err == nil {
			err = newUnavailable("the database ended the transaction")
		}
		w.undoOp(o, err)
	case err != nil:
		o.answer <- w.rollback(nested, err)
	case nested && w.conn.Exec("RELEASE op") != nil:
		w.undoOp(o, newUnavailable("release savepoint"))
	default:
		b.ops = append(b.ops, o)
		b.last = max(b.last, tx.NewestPosition())
		w.purge = w.purge || tx.DeletesSession()
	}
}

func (w *writer) begin(nested bool) error {
	if !w.batch.begun {
		if err := execute(w.conn, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		w.batch.begun = true
	}
	if nested {
		return execute(w.conn, "SAVEPOINT op")
	}
	return nil
}

// rollback undoes the transaction that failed with err and returns err.
func (w *writer) rollback(nested bool, err error) error {
	if nested {
		if w.conn.Exec("ROLLBACK TO op; RELEASE op") != nil {
			w.fail(newUnavailable("roll back: a neighbouring transaction failed"))
		}
		return err
	}
	if w.conn.Exec("ROLLBACK") != nil {
		w.drop()
	}
	w.batch.begun = false
	return err
}

// undoOp answers o with err, and the other ops of the batch with a failure: they ran in the same transaction.
func (w *writer) undoOp(o *op, err error) {
	w.batch.at = nil
	o.answer <- err
	w.fail(newUnavailable("the shared transaction was rolled back: %w", err))
}

// fail answers the whole batch with err and leaves the connection without a transaction.
func (w *writer) fail(err error) {
	for _, o := range w.batch.ops {
		o.answer <- err
	}
	w.batch.ops = w.batch.ops[:0]
	w.batch.begun = false
	if w.conn != nil && w.conn.InTransaction() && w.conn.Exec("ROLLBACK") != nil {
		w.drop()
	}
}

// drop closes the connection; the next batch opens another.
func (w *writer) drop() {
	_ = w.conn.Close()
	w.conn = nil
}

// abandonOp ends a batch whose running function did not return.
func (w *writer) abandonOp() {
	err := errors.New("the function of the transaction ended its goroutine")
	if o := w.batch.at; o != nil {
		w.undoOp(o, err)
	}
}

// commit commits the batch and answers its transactions. The lease is checked under SQLite's write lock, right before
// the commit. If the files or the lease were lost right after it, the ops are answered as uncertain: the commit may be
// in a file that has no name any more.
func (w *writer) commit() {
	if !w.batch.begun {
		return
	}
	ctx := context.Background()
	if err := fault.PassPoint(ctx, fault.StorePreCommit); err != nil {
		w.fail(newUnavailable("commit: %w", err))
		return
	}
	// Commit, and record it.
	if err := w.identity.checkLease(); err != nil {
		w.fail(err)
		return
	}
	if err := execute(w.conn, "COMMIT"); err != nil {
		w.failedCommit(err)
		return
	}
	w.batch.begun = false
	w.commits.recordCommit(w.batch.last, w.batch.sync)
	w.estimatePages()
	// Answer the ops.
	unknown := w.identity.check() // the files may have been removed meanwhile
	if unknown == nil {
		unknown = fault.PassPoint(ctx, fault.StorePostCommit)
	}
	for _, o := range w.batch.ops {
		err := unknown
		if err == nil {
			err = fault.PassPoint(ctx, fault.StorePreAnswer)
		}
		if err != nil {
			err = fmt.Errorf("%w: %w: %w", store.ErrUnavailable, store.ErrUncertain, err)
		}
		o.answer <- err
	}
	w.batch.ops = w.batch.ops[:0]
}

func (w *writer) failedCommit(err error) {
	if !isUncertain(err) {
		w.fail(newUnavailable("commit: %w", err))
		return
	}
	w.suspect = true
	w.fail(fmt.Errorf("%w: %w: commit: %w", store.ErrUnavailable, store.ErrUncertain, err))
	if w.conn != nil {
		w.drop()
	}
}

// execute runs a prepared statement without parameters.
func execute(c dbConn, sql string) error {
	st, err := c.Prepare(sql)
	if err != nil {
		return err
	}
	_, err = st.Step()
	if rerr := st.Reset(); err == nil {
		err = rerr
	}
	return err
}

// call runs f and turns a panic into an error.
func call[T any](f func(T) error, v T) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in transaction: %v\n%s", r, debug.Stack())
		}
	}()
	return f(v)
}
