// Package follower delivers the events of all sessions to a consumer that keeps something up to date with them: a
// mirror, an index, an outbox. It remembers in a file how far the consumer came, and goes on from there after a
// restart.
//
// Delivery is at least once and in the order of positions. The cursor is stored every few seconds, after the consumer
// made durable what it wrote, so the cursor never claims what a power cut took away. A consumer that was ended in between
// gets the same events again and must be idempotent. Events of a deleted session that were not delivered yet never are;
// the session.Deleted event is, because it outlives its session.
//
// A follower only reads the store. An append waits for nothing here: it signals a channel that coalesces wake-ups.
package follower

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// Consumer is kept up to date. Its calls do not overlap. A call that fails is repeated, after a pause.
type Consumer interface {
	// Rebuild brings the consumer up to date with everything that is stored. It is called when there is no cursor that
	// fits the store. Events committed during the call may be delivered again.
	//
	// A call that was interrupted is repeated with the progress that it saved last, "" without one: a text of the
	// consumer's own of at most 1 KiB. save calls Sync first.
	Rebuild(ctx context.Context, progress string, save func(progress string) error) error
	// Apply takes a batch of events, which are not decoded, so that an event of a newer version stops nothing. If the
	// consumer has lost what it had, it returns ErrLost and is rebuilt.
	Apply(ctx context.Context, events []store.EventRow) error
	// Sync makes durable what the calls before it wrote. After an error of Apply or Sync, all events since the last Sync
	// that succeeded are given again: the consumer need not remember what is not durable yet. After ErrLost it is rebuilt.
	Sync(ctx context.Context) error
}

// ErrLost is returned by a consumer that has lost what it had.
var ErrLost = errors.New("what was followed is lost")

// Log wakes the follower; *eventlog.Log implements it.
type Log interface {
	WatchCommits() (wake <-chan struct{}, stop func())
}

// Follower is one consumer's reader of all sessions. The fields up to Logger are set before Run and not changed.
type Follower struct {
	Name     string // of the consumer, for the log
	Store    store.Viewer
	Log      Log
	Consumer Consumer
	File     string // of the cursor
	Logger   *slog.Logger

	failed   error // of the last attempt; nil after a success
	position atomic.Int64
	failure  atomic.Pointer[error] // failed, for others
	lost     atomic.Bool
	hurry    atomic.Pointer[chan struct{}] // of a run: ends a pause
}

// Restart rebuilds the consumer, which has lost what it had.
func (f *Follower) Restart() {
	f.lost.Store(true)
	f.Hurry()
}

// Hurry delivers at once what was committed, if the follower pauses between two batches.
func (f *Follower) Hurry() {
	if hurry := f.hurry.Load(); hurry != nil {
		select {
		case *hurry <- struct{}{}:
		default:
		}
	}
}

// Failure returns why the last attempt to deliver failed, nil if it did not.
func (f *Follower) Failure() error {
	if err := f.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Position returns the position up to which the consumer has taken all events in this run; 0 before the first.
func (f *Follower) Position() int64 { return f.position.Load() }

const (
	// batch is the number of events that a consumer gets at once.
	batch = 256
	// pause is the time between batches that are not full: the events that come meanwhile share one batch.
	pause = 200 * time.Millisecond
	// storeInterval is the time between two writes of the cursor: a sync of the disk is slow.
	storeInterval = 2 * time.Second
	// An attempt that failed is repeated after firstBackoff, then each time after twice the time, up to maxBackoff.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// lastTime bounds what is delivered after the end of the context.
	lastTime = 2 * time.Second
)

// Run delivers events until ctx ends, then once more what was committed until then, for at most lastTime: a process that
// lives for one command ends within the pause. It returns when the consumer has returned.
func (f *Follower) Run(ctx context.Context) {
	wake, stop := f.Log.WatchCommits()
	defer stop()
	hurry := make(chan struct{}, 1)
	f.hurry.Store(&hurry)
	r := &reader{store: f.Store, file: f.File, consumer: f.Consumer, stored: time.Now(), position: &f.position, lost: &f.lost}
	f.follow(ctx, r, wake)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	// Deliver the rest, unless the consumer fails anyway, and store how far it came.
	for more := f.failed == nil; more && last.Err() == nil; {
		var err error
		more, err = r.advance(last)
		f.note(err)
	}
	f.note(r.storeCursor(last))
}

// follow delivers events until ctx ends.
func (f *Follower) follow(ctx context.Context, r *reader, wake <-chan struct{}) {
	backoff := firstBackoff
	for {
		more, err := r.advance(ctx)
		if err == nil && time.Since(r.stored) >= storeInterval {
			err = r.storeCursor(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		f.note(err)
		// After an error wait longer each time; a full batch is followed by the next one at once.
		var wait time.Duration
		var hurry <-chan struct{}
		switch {
		case err != nil:
			wait, backoff = backoff, min(2*backoff, maxBackoff)
		case more:
			backoff = firstBackoff
			continue
		default:
			wait, backoff, hurry = pause, firstBackoff, *f.hurry.Load()
			if !r.waitFor(ctx, wake, hurry) {
				return
			}
		}
		if !sleep(ctx, wait, hurry) {
			return
		}
	}
}

// waitFor waits for a wake-up, or until the cursor is to be stored. It returns false if ctx ends.
func (r *reader) waitFor(ctx context.Context, wake, hurry <-chan struct{}) bool {
	var due <-chan time.Time
	if r.unstored {
		due = time.After(storeInterval - time.Since(r.stored))
	}
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-hurry:
	case <-due:
	}
	return true
}

// sleep waits for the duration, or until hurry. It returns false if ctx ends.
func sleep(ctx context.Context, d time.Duration, hurry <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-hurry:
	}
	return true
}

// note remembers the result of an attempt, and logs an error that is not the one of the attempt before.
func (f *Follower) note(err error) {
	isNews := err != nil && (f.failed == nil || f.failed.Error() != err.Error())
	f.failure.Store(&err)
	if f.failed = err; isNews {
		f.Logger.Warn("events could not be delivered; it is tried again", "consumer", f.Name, "error", err)
	}
}

// reader is the state of a run.
type reader struct {
	store    store.Viewer
	file     string
	consumer Consumer

	started  bool      // the cursor was read, and fits the store
	cursor   cursor    // of the newest event that the consumer has taken
	durable  cursor    // the newest one of which the consumer's results are durable
	unstored bool      // the cursor in the file is an older one
	stored   time.Time // of the last write of the file, or of the beginning
	position *atomic.Int64
	lost     *atomic.Bool
}

// advance delivers one batch and moves the cursor behind it. It reports whether more events wait for sure.
func (r *reader) advance(ctx context.Context) (more bool, err error) {
	if r.lost.Swap(false) {
		if err := r.forget(); err != nil {
			return false, err
		}
	}
	if !r.started {
		if err := r.start(ctx); err != nil {
			return false, err
		}
	}
	// Read the next events.
	rows, head, err := readBatch(ctx, r.store, r.cursor.Position)
	if err != nil {
		return false, fmt.Errorf("read events: %w", err)
	}
	// Deliver them. Without events the cursor moves to the newest position, so that what is missing there is not looked for again.
	next := cursor{Position: head}
	switch {
	case len(rows) > 0:
		err := r.consumer.Apply(ctx, rows)
		if errors.Is(err, ErrLost) {
			return true, r.forget()
		}
		if err != nil {
			r.rewind()
			return false, err
		}
		last := rows[len(rows)-1]
		next = cursor{Position: last.Position, Event: last.ID}
	case head == r.cursor.Position:
		r.position.Store(head)
		return false, nil
	}
	r.cursor, r.unstored = next, true
	r.position.Store(next.Position)
	return len(rows) >= batch, nil
}

// forget makes the next attempt rebuild the consumer.
func (r *reader) forget() error {
	r.started, r.unstored = false, false
	r.position.Store(0)
	return removeCursor(r.file)
}

// rewind makes the next batch begin behind what is durable.
func (r *reader) rewind() { r.cursor, r.unstored = r.durable, false }

// storeCursor makes durable what the consumer wrote, and then stores the cursor, unless it is stored.
func (r *reader) storeCursor(ctx context.Context) error {
	if !r.unstored {
		return nil
	}
	if err := r.save(ctx, r.cursor); err != nil {
		return err
	}
	r.unstored = false
	return nil
}

// save stores a cursor, after what the consumer wrote until now.
func (r *reader) save(ctx context.Context, c cursor) error {
	if err := r.consumer.Sync(ctx); err != nil {
		r.rewind()
		if errors.Is(err, ErrLost) {
			err = errors.Join(err, r.forget())
		}
		return err
	}
	r.durable = c
	if err := writeCursor(r.file, c); err != nil {
		return err
	}
	r.stored = time.Now()
	return nil
}

// start reads the cursor. Without one that fits the store it rebuilds the consumer, or goes on with a rebuild that was
// interrupted. The cursor behind a rebuild is that of its beginning: what was committed since is delivered.
func (r *reader) start(ctx context.Context) error {
	// Go on behind the stored cursor, if it fits the store.
	stored, err := readCursor(r.file)
	if err != nil && !errors.Is(err, errNoCursor) {
		return err
	}
	head, fits, err := checkCursor(ctx, r.store, stored)
	if err != nil {
		return fmt.Errorf("read the newest event: %w", err)
	}
	if fits && stored.Rebuild == "" {
		r.cursor, r.durable, r.started = *stored, *stored, true
		return nil
	}
	// Rebuild the consumer, behind the progress of an interrupted rebuild.
	begin, progress := head, ""
	if fits {
		begin, progress = *stored, stored.Rebuild
	}
	err = r.consumer.Rebuild(ctx, progress, func(progress string) error {
		begin.Rebuild = progress
		return r.save(ctx, begin)
	})
	if err != nil {
		return err
	}
	begin.Rebuild = ""
	if err := r.save(ctx, begin); err != nil {
		return err
	}
	r.cursor, r.started = begin, true
	return nil
}

// readBatch returns events after the position, and the position up to which there are no others if there are none:
// that of the newest event, which damage or a deletion may have removed.
func readBatch(ctx context.Context, s store.Viewer, after int64) (rows []store.EventRow, head int64, err error) {
	err = s.View(ctx, func(r store.Reader) (err error) {
		if head, err = r.Head(""); err != nil || head <= after {
			head = max(head, after)
			rows = nil
			return err
		}
		// The read leaves damaged rows out, but counts them: a page without rows may be followed by good ones.
		for limit := batch; ; limit *= 8 {
			if rows, err = r.Events("", after, limit); err != nil || len(rows) > 0 || int64(limit) >= head-after {
				return err
			}
		}
	})
	return rows, head, err
}
