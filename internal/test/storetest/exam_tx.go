package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

var errOwn = errors.New("an error of the function")

func readHead(t *testing.T, s store.Store, id session.ID) int64 {
	t.Helper()
	return get(t, s, func(r store.Reader) (int64, error) { return r.Head(id) })
}

func testRollback(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 1) })
	err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		if err := errors.Join(
			appendEvents(tx, "ses_a", 3), tx.PutSession(fullSession()),
			tx.PutInput(&session.Input{ID: "in", SessionID: "ses_a"}),
		); err != nil {
			return err
		}
		return errOwn
	})
	if !errors.Is(err, errOwn) || err.Error() != errOwn.Error() {
		t.Errorf("the error is %v, not that of the function", err)
	}
	checkEqual(t, "head", readHead(t, s, "ses_a"), int64(0))
	if x := getSession(t, s, "ses_full"); x != nil {
		t.Errorf("the session stayed: %v", x)
	}
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 1) })
	checkEqual(t, "head", readHead(t, s, "ses_a"), int64(1))
}

func testPanic(t *testing.T, s store.Store) {
	err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
		if err := appendEvents(tx, "ses_a", 1); err != nil {
			return err
		}
		panic("of the function")
	})
	if err == nil || !strings.Contains(err.Error(), "of the function") {
		t.Errorf("update: %v", err)
	}
	err = s.View(t.Context(), func(store.Reader) error { panic("of the view") })
	if err == nil || !strings.Contains(err.Error(), "of the view") {
		t.Errorf("view: %v", err)
	}
	checkEqual(t, "head", readHead(t, s, "ses_a"), int64(-1))
}

// A function that ends its goroutine (as t.Fatal does) leaves a store that works.
func testGoexit(t *testing.T, s store.Store) {
	for range 3 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
				_ = appendEvents(tx, "ses_a", 1)
				runtime.Goexit()
				return nil
			})
		}()
		<-ended
		ended = make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.View(t.Context(), func(store.Reader) error { runtime.Goexit(); return nil })
		}()
		<-ended
	}
	checkEqual(t, "head", readHead(t, s, "ses_a"), int64(-1))
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 1) })
	checkEqual(t, "head", readHead(t, s, "ses_a"), int64(0))
}

// What a function keeps does no harm afterwards.
func testTxEnds(t *testing.T, s store.Store) {
	var kept store.Tx
	update(t, s, func(tx store.Tx) error {
		kept = tx
		return nil
	})
	_ = appendEvents(kept, "ses_a", 1)
	checkEqual(t, "head", readHead(t, s, "ses_a"), int64(-1))
}

func testSnapshot(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 1) })
	begun, written := make(chan struct{}), make(chan error)
	go func() {
		<-begun
		written <- s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
			return errors.Join(appendEvents(tx, "ses_a", 1), tx.PutSession(fullSession()))
		})
	}()
	view(t, s, func(r store.Reader) error {
		close(begun)
		if err := <-written; err != nil {
			return err
		}
		head, err := r.Head("ses_a")
		checkEqual(t, "head within the snapshot", head, int64(0))
		if _, ok, _ := r.Session("ses_full"); ok {
			t.Error("the snapshot shows a later session")
		}
		return err
	})
	checkEqual(t, "head", readHead(t, s, "ses_a"), int64(1))
}

func testReadYourWrites(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) error {
		if err := errors.Join(
			appendEvents(tx, "ses_a", 2), tx.PutSession(fullSession()), putAll("ses_a", oneOfEach())(tx),
		); err != nil {
			return err
		}
		head, err := tx.Head("ses_a")
		checkEqual(t, "head within the transaction", head, int64(1))
		rows, rowsErr := tx.Events("ses_a", -1, 0)
		checkEqual(t, "events within the transaction", seqsOf(rows), []int64{0, 1})
		x, _, sessionErr := tx.Session("ses_full")
		checkEqual(t, "session within the transaction", x, fullSession())
		return errors.Join(err, rowsErr, sessionErr)
	})
}

func testContexts(t *testing.T, s store.Store) {
	cause := errors.New("not interested any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := s.Update(ctx, store.Relaxed, func(store.Tx) error { return nil }); !errors.Is(err, cause) {
		t.Errorf("update with an ended context: %v", err)
	}
	if err := s.View(ctx, func(store.Reader) error { return nil }); !errors.Is(err, cause) {
		t.Errorf("view with an ended context: %v", err)
	}
	// A transaction that waits is given up, one that has begun is not.
	begun, release := make(chan struct{}), make(chan struct{})
	first := make(chan error)
	ctx, cancel = context.WithCancelCause(t.Context())
	go func() {
		first <- s.Update(ctx, store.Durable, func(tx store.Tx) error {
			close(begun)
			<-release
			return appendEvents(tx, "ses_a", 1)
		})
	}()
	<-begun
	second := make(chan error)
	go func() {
		second <- s.Update(ctx, store.Durable, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 1) })
	}()
	cancel(cause)
	if err := <-second; !errors.Is(err, cause) {
		t.Errorf("the waiting update: %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the begun update: %v", err)
	}
	checkEqual(t, "head", readHead(t, s, "ses_a"), int64(0))
}

// Many writers at once: every transaction is whole, and the order of each writer is kept.
func testSharedCommits(t *testing.T, s store.Store) {
	// Several writers share each session; a log of its own shows the order of each writer.
	const writers, each = 16, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			id := session.ID(fmt.Sprintf("ses_%d", w%4))
			own := session.ID(fmt.Sprintf("ses_own_%d", w))
			for i := range each {
				d := store.Durability(i % 2)
				err := s.Update(t.Context(), d, func(tx store.Tx) error {
					row := newRow(own, int64(i))
					if _, err := tx.InsertEvent(row); err != nil {
						return err
					}
					return appendEvents(tx, id, 2)
				})
				if err != nil {
					t.Error(err)
					return
				}
				if h := readHead(t, s, own); h != int64(i) {
					t.Errorf("after the answer, the head is %d, want %d", h, i)
				}
			}
		})
	}
	// The two events of a transaction are neighbours in the log and in the feed.
	all.Wait()
	for i := range 4 {
		id := session.ID(fmt.Sprintf("ses_%d", i))
		rows := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events(id, -1, 0) })
		if len(rows) != writers/4*each*2 {
			t.Errorf("%s has %d events", id, len(rows))
		}
		for j := 0; j+1 < len(rows); j += 2 {
			if rows[j].Seq != int64(j) || rows[j+1].Position != rows[j].Position+1 {
				t.Fatalf("%s: a transaction was torn: %v %v", id, rows[j], rows[j+1])
			}
		}
	}
}

// Transactions that fail, panic or refuse an event do not touch those that share their commit.
func testFailedNeighbours(t *testing.T, s store.Store) {
	// Block the writer, so that the transactions wait and share a commit.
	var all sync.WaitGroup
	var good atomic.Int64
	begun, release := make(chan struct{}), make(chan struct{})
	all.Go(func() { // holds the writer until the others wait
		_ = s.Update(t.Context(), store.Relaxed, func(store.Tx) error {
			close(begun)
			<-release
			return nil
		})
	})
	<-begun
	// A quarter succeeds, the others return an error, panic, or repeat a seq.
	for i := range 60 {
		all.Go(func() {
			id := session.ID(fmt.Sprintf("ses_%d", i))
			err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
				if err := appendEvents(tx, id, 2); err != nil {
					return err
				}
				switch i % 4 {
				case 1:
					return errOwn
				case 2:
					panic("neighbour")
				case 3:
					_, err := tx.InsertEvent(newRow(id, 1))
					return err
				}
				return nil
			})
			if (err == nil) != (i%4 == 0) {
				t.Errorf("transaction %d: %v", i, err)
			}
			if err == nil {
				good.Add(1)
			}
		})
	}
	close(release)
	all.Wait()
	// Only the good ones left events.
	for i := range 60 {
		want := int64(-1)
		if i%4 == 0 {
			want = 1
		}
		if h := readHead(t, s, session.ID(fmt.Sprintf("ses_%d", i))); h != want {
			t.Errorf("session %d: head is %d, want %d", i, h, want)
		}
	}
	rows := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", 0, 0) })
	if int64(len(rows)) != 2*good.Load() {
		t.Errorf("%d events of %d good transactions", len(rows), good.Load())
	}
}

func testReadersBesideWriters(t *testing.T, s store.Store) {
	// Each view must show whole transactions, and never an older state than the view before.
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 6 {
		readers.Go(func() {
			last := int64(-1)
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := s.View(t.Context(), func(r store.Reader) error {
					h, err := r.Head("ses_a")
					if err != nil {
						return err
					}
					rows, err := r.Events("ses_a", -1, 0)
					if int64(len(rows)) != h+1 || h < last || h%2 == 0 {
						t.Errorf("head %d after %d, with %d events", h, last, len(rows))
					}
					last = h
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	// Write two events at a time, so that a whole transaction leaves an odd head.
	for range 100 {
		update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 2) })
	}
	close(stop)
	readers.Wait()
}

func testClosed(t *testing.T, s store.Store) {
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ran := false
	err := s.Update(t.Context(), store.Durable, func(store.Tx) error { ran = true; return nil })
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("update: %v", err)
	}
	if err := s.View(
		t.Context(), func(store.Reader) error { ran = true; return nil },
	); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("view: %v", err)
	}
	if ran {
		t.Error("a function ran")
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func testReopen(t *testing.T, o Subject) {
	s := o.Store
	update(t, s, func(tx store.Tx) error {
		return errors.Join(appendEvents(tx, "ses_a", 3), tx.PutSession(fullSession()), putAll("ses_a", oneOfEach())(tx))
	})
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_b", 2) })
	rows := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", 0, 0) })
	update(t, s, func(tx store.Tx) error { return tx.DeleteSession("ses_b") })

	s = o.Reopen(t)
	defer s.Close()
	feed := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", 0, 0) })
	checkEqual(t, "feed", feed, rows[:3])
	checkEqual(t, "session", getSession(t, s, "ses_full"), fullSession())
	all := get(t, s, func(r store.Reader) ([]session.Message, error) {
		return store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
	})
	checkEqual(t, "messages", all, oneOfEach())
	update(t, s, func(tx store.Tx) error { return appendEvents(tx, "ses_b", 1) })
	later := get(t, s, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", rows[4].Position, 0) })
	if len(later) != 1 {
		t.Errorf("a position was given out twice: the feed behind the deleted events is %v", later)
	}
}
