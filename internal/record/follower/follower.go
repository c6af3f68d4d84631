// Package follower delivers the events of all sessions to a consumer that keeps something up to date with them: a
// mirror, an index, an outbox. It remembers in a file how far the consumer came, and goes on from there after a
// restart.
//
// Delivery is at least once and in the order of positions: the cursor is stored after the consumer returned, so a
// consumer that was ended in between gets the same events again and must be idempotent. Events of a deleted session
// that were not delivered yet never are; the session.Deleted event is, because it outlives its session.
//
// A follower only reads the store. An append waits for nothing here: it signals a channel that coalesces wake-ups.
package follower

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// Consumer is kept up to date. Its calls do not overlap. A call that fails is repeated, after a pause.
type Consumer interface {
	// Rebuild brings the consumer up to date with everything that is stored. It is called when there is no cursor that
	// fits the store. Events committed during the call may be delivered again.
	Rebuild(ctx context.Context) error
	// Apply takes a batch of events, which are not decoded, so that an event of a newer version stops nothing.
	Apply(ctx context.Context, events []store.EventRow) error
}

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

	mu       sync.Mutex // guards the fields below
	failed   error      // of the last attempt; nil after a success
	position int64      // up to which the consumer is up to date
}

const (
	// batch is the number of events that a consumer gets at once.
	batch = 256
	// pause is the time between batches that are not full: the events that come meanwhile share one batch.
	pause = 200 * time.Millisecond
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
	r := &reader{store: f.Store, file: f.File, consumer: f.Consumer}
	f.follow(ctx, r, wake)
	if _, failed := f.State(); failed != nil || !r.started {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	for more := true; more && last.Err() == nil; {
		var err error
		more, err = r.advance(last)
		f.note(err, r.cursor.Position)
	}
}

// follow delivers events until ctx ends.
func (f *Follower) follow(ctx context.Context, r *reader, wake <-chan struct{}) {
	backoff := firstBackoff
	for {
		more, err := r.advance(ctx)
		if ctx.Err() != nil {
			return
		}
		f.note(err, r.cursor.Position)
		// After an error wait longer each time; a full batch is followed by the next one at once.
		var wait time.Duration
		switch {
		case err != nil:
			wait, backoff = backoff, min(2*backoff, maxBackoff)
		case more:
			backoff = firstBackoff
			continue
		default:
			wait, backoff = pause, firstBackoff
			if !waitFor(ctx, wake) {
				return
			}
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// waitFor waits for a wake-up. It returns false if ctx ends.
func waitFor(ctx context.Context, wake <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-wake:
		return true
	}
}

// sleep waits for the duration. It returns false if ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// note remembers the result of an attempt, and logs an error that is not the one of the attempt before.
func (f *Follower) note(err error, position int64) {
	f.mu.Lock()
	isNews := err != nil && (f.failed == nil || f.failed.Error() != err.Error())
	f.failed, f.position = err, position
	f.mu.Unlock()
	if isNews {
		f.Logger.Warn("events could not be delivered; it is tried again", "consumer", f.Name, "error", err)
	}
}

// State returns the position up to which the consumer is up to date, and why it does not go on; nil if it does.
func (f *Follower) State() (position int64, failed error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position, f.failed
}

// reader is the state of a run.
type reader struct {
	store    store.Viewer
	file     string
	consumer Consumer
	cursor   cursor
	started  bool // cursor was read, and fits the store
}

// advance delivers one batch and stores the cursor behind it. It reports whether more events wait for sure.
func (r *reader) advance(ctx context.Context) (more bool, err error) {
	if !r.started {
		if err := r.start(ctx); err != nil {
			return false, err
		}
	}
	rows, head, err := readBatch(ctx, r.store, r.cursor.Position)
	if err != nil {
		return false, fmt.Errorf("read events: %w", err)
	}
	next := cursor{Position: head}
	switch {
	case len(rows) > 0:
		if err := r.consumer.Apply(ctx, rows); err != nil {
			return false, err
		}
		last := rows[len(rows)-1]
		next = cursor{Position: last.Position, Event: last.ID}
	case head == r.cursor.Position:
		return false, nil
	}
	if err := writeCursor(r.file, next); err != nil {
		return false, err
	}
	r.cursor = next
	return len(rows) >= batch, nil
}

// start reads the cursor. Without one that fits the store it rebuilds the consumer.
func (r *reader) start(ctx context.Context) error {
	stored, err := readCursor(r.file)
	if err != nil && !errors.Is(err, errNoCursor) {
		return err
	}
	head, fits, err := checkCursor(ctx, r.store, stored)
	if err != nil {
		return fmt.Errorf("read the newest event: %w", err)
	}
	if !fits {
		if err := r.consumer.Rebuild(ctx); err != nil {
			return err
		}
		if err := writeCursor(r.file, head); err != nil {
			return err
		}
		stored = &head
	}
	r.cursor, r.started = *stored, true
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
