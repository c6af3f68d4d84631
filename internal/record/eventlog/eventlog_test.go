package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

const id = session.ID("ses_a")

func newLog(t testing.TB, ids ...session.ID) (*Log, *storetest.Memory) {
	t.Helper()
	m := storetest.NewMemory()
	l := New(Config{Store: m, IDs: &session.IDs{}})
	for _, id := range append(ids, id) {
		add(t, l, id, &session.Created{Info: session.Session{ID: id}})
	}
	return l, m
}

// add appends facts of no further meaning.
func add(t testing.TB, l *Log, id session.ID, data ...session.EventData) []session.Event {
	t.Helper()
	events, err := l.Append(
		context.Background(), id, store.Relaxed, func(store.Tx) ([]Draft, error) { return NewDrafts(data...), nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func renamed(title string) session.EventData { return &session.Renamed{Title: title} }

func head(t testing.TB, s store.Store, id session.ID) (n int64) {
	t.Helper()
	err := s.View(context.Background(), func(r store.Reader) (err error) {
		n, err = r.Head(id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What cannot be projected, or is not wanted after all, leaves nothing: no event, no row, no seq.
func TestAppendIsAllOrNothing(t *testing.T) {
	l, m := newLog(t)
	conflict := &session.PermissionReplied{AskID: "per_none", Reply: session.ReplyOnce}
	for _, decide := range []func(store.Tx) ([]Draft, error){
		func(store.Tx) ([]Draft, error) { return NewDrafts(renamed("a"), renamed("b"), conflict), nil },
		func(store.Tx) ([]Draft, error) { return NewDrafts(renamed("a")), errors.New("no") },
		func(store.Tx) ([]Draft, error) {
			return NewDrafts(&session.Created{Info: session.Session{ID: id}}), nil
		},
		func(store.Tx) ([]Draft, error) {
			return NewDrafts(renamed("a"), &session.TextStarted{
				TurnFact: session.TurnFact{Fact: session.Fact{Extra: jsontext.Value(`{bad`)}},
			}), nil
		},
		func(store.Tx) ([]Draft, error) { panic("boom") },
	} {
		if events, err := l.Append(t.Context(), id, store.Durable, decide); err == nil || events != nil {
			t.Errorf("appended %v", events)
		}
	}
	if events, err := l.Append(
		t.Context(), id, store.Durable, func(store.Tx) ([]Draft, error) { return nil, nil },
	); err != nil || len(events) != 0 {
		t.Errorf("appending nothing: %v, %v", events, err)
	}
	if _, err := l.Append(
		t.Context(), "ses_none", store.Durable, func(store.Tx) ([]Draft, error) { return NewDrafts(renamed("x")), nil },
	); err == nil {
		t.Error("a fact of a session that does not exist was taken")
	}
	if n := head(t, m, id); n != 0 {
		t.Errorf("the head is %d, want 0", n)
	}
	if e := add(
		t, l, id, renamed("c"),
	)[0]; e.Seq != 1 || e.Data.Stamp().SessionID != id || e.Data.Stamp().Timestamp == 0 {
		t.Errorf("the next event is %+v", e)
	}
	_ = m.View(t.Context(), func(r store.Reader) error {
		if s, _, _ := r.Session(id); s.Title != "c" {
			t.Errorf("the title is %q", s.Title)
		}
		return nil
	})
}

// Many appenders: seqs are contiguous, in one order for all, and what Append returned is what is stored.
func TestAppendConcurrently(t *testing.T) {
	l, m := newLog(t)
	var mu sync.Mutex
	got := map[int64]session.EventID{}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 100 {
				for _, e := range add(t, l, id, renamed(fmt.Sprint(w, i)), renamed("again")) {
					mu.Lock()
					got[e.Seq] = e.ID
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if head(t, m, id) != 1600 || len(got) != 1600 {
		t.Fatalf("head %d, %d events", head(t, m, id), len(got))
	}
	want := int64(0)
	for e, err := range ReplayEvents(t.Context(), l, id, -1) {
		if err != nil || e.Seq != want || (want > 0 && got[want] != e.ID) {
			t.Fatalf("event %d is %+v, %v", want, e, err)
		}
		want++
	}
}

func TestPrivatePartsSurvive(t *testing.T) {
	l, _ := newLog(t)
	base := "here"
	private := &session.Private{
		Epoch: &session.Epoch{Baseline: &base, Snapshot: jsontext.Value(`{"k":1}`), Revision: 1},
	}
	_, err := l.Append(t.Context(), id, store.Durable, func(store.Tx) ([]Draft, error) {
		return []Draft{{Data: &session.ContextBased{}, Private: private}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range ReplayEvents(t.Context(), l, id, 0) {
		if err != nil || e.Private == nil || *e.Private.Epoch.Baseline != base || string(
			e.Private.Epoch.Snapshot,
		) != `{"k":1}` {
			t.Errorf("%+v, %v", e.Private, err)
		}
	}
}

// An event of an older version is read in the current form, and says so; one of a newer version stays as it is.
func TestDecodeVersions(t *testing.T) {
	for stored, want := range map[int]int{1: 2, 2: 2, 7: 7} {
		e, err := Decode(store.EventRow{
			ID: "evt_1", SessionID: id, Seq: 1, Kind: session.KindStepEnded, Version: stored,
			Data: jsontext.Value(`{}`),
		})
		if err != nil || e.Version != want {
			t.Errorf("version %d became %d, %v", stored, e.Version, err)
		}
	}
}

// A log with an event that cannot be read yields what stands before it, then the error, once.
func TestUnreadable(t *testing.T) {
	l, m := newLog(t)
	err := m.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		_, err := tx.InsertEvent(store.EventRow{
			ID: "evt_bad", SessionID: id, Seq: 1, Kind: session.KindRenamed, Version: 1,
			Data: jsontext.Value(`{"title":7}`),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, id, renamed("after"))
	for name, seq := range map[string]func(func(session.Event, error) bool){
		"replay": ReplayEvents(t.Context(), l, id, -1), "tail": tailEvents(t.Context(), l, id, -1),
	} {
		events, errs := 0, 0
		for _, err := range seq {
			if err != nil {
				errs++
			} else {
				events++
			}
		}
		if events != 1 || errs != 1 {
			t.Errorf("%s: %d events, %d errors", name, events, errs)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	l, _ := newLog(b)
	b.ReportAllocs()
	for b.Loop() {
		add(b, l, id, renamed("x"))
	}
}

// BenchmarkPublish is the cost of one delta to the turn that publishes it, with readers that take it all.
func BenchmarkPublish(b *testing.B) {
	for _, readers := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			l, _ := newLog(b)
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			begin(b, l, id, "msg_a", "prt_a")
			for range readers {
				wg.Go(func() {
					for range l.Follow(ctx, id, -1) {
						continue
					}
				})
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				l.Publish(id, "prt_a", "eight by")
				if n++; n%10_000 == 0 { // a turn's text is not endless
					finish(b, l, id, "msg_a", "prt_a", "")
					begin(b, l, id, session.MessageID(fmt.Sprint("msg_", n)), "prt_a")
				}
			}
			b.StopTimer()
			cancel()
			wg.Wait()
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	l, _ := newLog(b)
	for range 1000 {
		add(b, l, id, renamed("x"))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range ReplayEvents(context.Background(), l, id, -1) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
