package usage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/usage"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// watchedStore notes what is read in each transaction.
type watchedStore struct {
	store.Viewer
	views []*watchedReader
	begin func() // called before each transaction; may be nil
}

func (w *watchedStore) View(ctx context.Context, f func(store.Reader) error) error {
	if w.begin != nil {
		w.begin()
	}
	return w.Viewer.View(ctx, func(r store.Reader) error {
		view := &watchedReader{Reader: r}
		w.views = append(w.views, view)
		return f(view)
	})
}

type watchedReader struct {
	store.Reader
	spent              bool
	found, listed      int // sessions
	prompts, assistant int // messages
}

func (r *watchedReader) Spent(id session.ID, since int64) ([]store.Spend, error) {
	r.spent = true
	return r.Reader.Spent(id, since)
}

func (r *watchedReader) Session(id session.ID) (*session.Session, bool, error) {
	r.found++
	return r.Reader.Session(id)
}

func (r *watchedReader) RawSessions(q store.SessionQuery) ([]store.RawSession, error) {
	rows, err := r.Reader.RawSessions(q)
	r.listed += len(rows)
	return rows, err
}

func (r *watchedReader) RawMessages(id session.ID, q store.MessageQuery, f func(*store.RawMessage) error) error {
	return r.Reader.RawMessages(id, q, func(row *store.RawMessage) error {
		if row.Type == session.TypeAssistant {
			r.assistant++
		} else {
			r.prompts++
		}
		return f(row)
	})
}

// newLargeStore returns a store with n sessions of a prompt, an answer and a turn each.
func newLargeStore(t *testing.T, n int) *watchedStore {
	t.Helper()
	m := storetest.NewMemory()
	err := m.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		for i := range n {
			id := session.ID(fmt.Sprintf("ses_%04d", i))
			user := &session.User{Head: head(session.MessageID(fmt.Sprint("u", i)), session.TypeUser, 1)}
			turn := &session.Assistant{Head: head(session.MessageID(fmt.Sprint("a", i)), session.TypeAssistant, 2), Agent: "build"}
			err := errors.Join(
				tx.PutSession(&session.Session{ID: id, Time: session.SessionTime{Created: 1, Updated: day.Milliseconds()}}),
				tx.PutMessage(id, user, nil, 0), tx.PutMessage(id, turn, nil, 0),
				tx.AddSpend(store.Spend{SessionID: id, Seq: 2, Time: day.Milliseconds() + int64(i)}),
			)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &watchedStore{Viewer: m}
}

// No transaction reads many sessions, so that none holds the store's log for long.
func TestCollectInPages(t *testing.T) {
	const sessions = 1500
	w := newLargeStore(t, sessions)
	got, err := usage.Collect(t.Context(), w, usage.Query{Zone: time.UTC, Messages: true})
	if err != nil {
		t.Fatal(err)
	}
	if got.Sessions != sessions || got.Turns != sessions || got.Prompts != sessions || got.Agents[0].Turns != sessions {
		t.Errorf("%+v", got)
	}
	for i, view := range w.views {
		if view.listed > 500 || view.found > 500 || view.spent && view.found > 0 {
			t.Errorf("transaction %d: %+v", i, view)
		}
	}
}

// A session that has not changed since the time is not read.
func TestCollectSince(t *testing.T) {
	w := newLargeStore(t, 3)
	got, err := usage.Collect(t.Context(), w, usage.Query{Zone: time.UTC, Messages: true, Since: day.Milliseconds() + 1})
	if err != nil || got.Prompts != 0 || got.Turns != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for i, view := range w.views {
		if view.prompts+view.assistant > 0 {
			t.Errorf("transaction %d: %+v", i, view)
		}
	}
}

// To count prompts the answers are not read.
func TestCollectPrompts(t *testing.T) {
	w := newLargeStore(t, 3)
	got, err := usage.Collect(t.Context(), w, usage.Query{Zone: time.UTC, Prompts: true})
	if err != nil || got.Prompts != 3 || len(got.Agents) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for i, view := range w.views {
		if view.assistant > 0 {
			t.Errorf("transaction %d: %+v", i, view)
		}
	}
}

// Collect ends with its context.
func TestCollectCancelled(t *testing.T) {
	w := newLargeStore(t, 1500)
	for last := range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		w.views = nil
		w.begin = func() {
			if len(w.views) > last {
				cancel()
			}
		}
		if _, err := usage.Collect(ctx, w, usage.Query{Zone: time.UTC, Messages: true}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d transactions: %v", last, err)
		}
		cancel()
	}
}
