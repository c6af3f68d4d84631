package storetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) Subject {
		m := NewMemory()
		return Subject{m, func(*testing.T) store.Store { return m.Reopen() }}
	})
}

func TestFailing(t *testing.T) {
	m := NewMemory()
	s := NewFailing(m, func(op int) error {
		return map[int]error{2: ErrBefore, 3: ErrAfter}[op]
	})
	for op, want := range []error{nil, store.ErrUnavailable, store.ErrUncertain, nil} {
		err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error { return appendEvents(tx, "ses_a", 1) })
		if !errors.Is(err, want) || errors.Is(err, store.ErrUncertain) != errors.Is(want, store.ErrUncertain) {
			t.Errorf("update %d: %v", op+1, err)
		}
	}
	if got := heads(t, s, "ses_a"); got != 2 {
		t.Errorf("head is %d, want 2: the first, the uncertain and the last", got)
	}
}

func insert(id session.ID, seq int64) func(store.Tx) error {
	return func(tx store.Tx) error {
		_, err := tx.InsertEvent(store.EventRow{
			ID: session.EventID(
				string(id) + string(rune('a'+seq)),
			), SessionID: id, Seq: seq, Kind: session.KindRenamed, Version: 1,
			Data: jsontext.Value(`{"title":"x"}`),
		})
		return err
	}
}

func heads(t *testing.T, s store.Store, id session.ID) int64 {
	t.Helper()
	var head int64
	err := s.View(t.Context(), func(r store.Reader) (err error) {
		head, err = r.Head(id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func TestCrashDropsRelaxedSuffix(t *testing.T) {
	m := NewMemory()
	for seq, d := range []store.Durability{store.Relaxed, store.Durable, store.Relaxed, store.Relaxed} {
		if err := m.Update(t.Context(), d, insert("ses_a", int64(seq))); err != nil {
			t.Fatal(err)
		}
	}
	err := m.View(t.Context(), func(old store.Reader) error {
		m.Crash()
		if err := m.Update(t.Context(), store.Relaxed, insert("ses_a", 2)); err != nil {
			t.Fatal(err)
		}
		rows, err := old.Events("ses_a", -1, 0)
		if len(rows) != 4 {
			t.Errorf("a snapshot taken before the crash shows %d events, want 4", len(rows))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := heads(t, m, "ses_a"); got != 2 {
		t.Errorf("head is %d, want 2", got)
	}
	n := m.Reopen()
	if err := m.Update(t.Context(), store.Relaxed, insert("ses_a", 3)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("update of the closed store: %v", err)
	}
	if got := heads(t, n, "ses_a"); got != 2 {
		t.Errorf("head after reopening is %d, want 2", got)
	}
}

// In a bubble, a transaction may wait for time to pass and others wait for it, until their context ends.
func TestMemoryInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		slow := make(chan error)
		go func() {
			slow <- m.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
				time.Sleep(time.Minute)
				return insert("ses_a", 0)(tx)
			})
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Update(ctx, store.Durable, insert("ses_a", 0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting update: %v", err)
		}
		if err := m.Update(t.Context(), store.Durable, insert("ses_a", 1)); err != nil {
			t.Error(err)
		}
		if err := <-slow; err != nil {
			t.Error(err)
		}
	})
}
