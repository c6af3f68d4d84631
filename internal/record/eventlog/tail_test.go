package eventlog

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// fromPosition marks the events after the position, and no notices of the past.
func fromPosition(after int64) Mark { return Mark{Position: after, Notice: math.MaxInt64} }

func begin(t testing.TB, l *Log, id session.ID, m session.MessageID, part session.PartID) {
	t.Helper()
	add(t, l, id, &session.StepStarted{TurnFact: session.OfTurn(m)}, &session.TextStarted{
		TurnFact: session.OfTurn(m), TextID: "t", PartID: part,
	})
}

func finish(t testing.TB, l *Log, id session.ID, m session.MessageID, part session.PartID, text string) {
	t.Helper()
	add(
		t, l, id, &session.TextEnded{TurnFact: session.OfTurn(m), TextID: "t", PartID: part, Text: text},
		&session.StepEnded{TurnFact: session.OfTurn(m)},
	)
}

// orderChecker checks the updates that a reader gets: every seq once and in order, no fragment before the start of
// its item or after its end, and the fragments of an item without gap or overlap, up to the text with which the
// item ends.
type orderChecker struct {
	t     *testing.T
	next  map[session.ID]int64
	open  map[session.PartID]bool
	text  map[session.PartID]string
	live  map[session.PartID]bool // its fragments must be the whole text
	ended int
}

func newOrderChecker(t *testing.T) *orderChecker {
	return &orderChecker{
		t: t, next: map[session.ID]int64{}, open: map[session.PartID]bool{}, text: map[session.PartID]string{},
		live: map[session.PartID]bool{},
	}
}

func (r *orderChecker) take(u Update) {
	if f := u.Fragment; f != nil {
		switch {
		case !r.open[f.PartID]:
			r.t.Errorf("a fragment of %s, which is not open", f.PartID)
		case f.Offset != len(r.text[f.PartID]):
			r.t.Errorf("a fragment of %s at %d, want %d", f.PartID, f.Offset, len(r.text[f.PartID]))
		case f.Delta == "":
			r.t.Errorf("an empty fragment of %s", f.PartID)
		}
		r.text[f.PartID] += f.Delta
	}
	e := u.Event
	if e == nil {
		return
	}
	if e.Seq != r.next[e.SessionID] {
		r.t.Errorf("seq %d of %s, want %d", e.Seq, e.SessionID, r.next[e.SessionID])
	}
	r.next[e.SessionID] = e.Seq + 1
	switch d := e.Data.(type) {
	case *session.TextStarted:
		r.open[d.PartID] = true
	case *session.TextEnded:
		if got := r.text[d.PartID]; got != d.Text && (r.live[d.PartID] || got != "") {
			r.t.Errorf("the fragments of %s are %d bytes, the text is %d", d.PartID, len(got), len(d.Text))
		}
		r.open[d.PartID] = false
		r.ended++
	}
}

// (EV-25) A thousand times, a reader starts while a turn is written and gets every update exactly once.
func TestFollowWhileWriting(t *testing.T) {
	for n := range 1000 {
		synctest.Test(t, func(t *testing.T) {
			l, _ := newLog(t)
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			ctx, cancel := context.WithCancel(t.Context())
			nap := func() time.Duration { return time.Duration(rng.IntN(40)) }
			starts := []time.Duration{0, nap(), nap(), nap()}
			lag := []time.Duration{0, 0, nap(), 0}
			pauses := make([]time.Duration, 60)
			for i := range pauses {
				pauses[i] = nap() / 10
			}
			var wg sync.WaitGroup
			readers := make([]*orderChecker, len(starts))
			for i := range starts {
				r := newOrderChecker(t)
				readers[i] = r
				wg.Go(func() {
					time.Sleep(starts[i])
					for u, err := range l.Follow(ctx, id, -1) {
						if err != nil {
							t.Error(err)
						}
						r.take(u)
						time.Sleep(lag[i])
					}
				})
			}
			for turn := range 3 {
				m, part := session.MessageID(fmt.Sprint("msg_", turn)), session.PartID(fmt.Sprint("prt_", turn))
				begin(t, l, id, m, part)
				readers[0].live[part] = true
				var text strings.Builder
				for i := range 20 {
					delta := fmt.Sprintf("<%d>", i)
					text.WriteString(delta)
					l.Publish(id, part, delta)
					time.Sleep(pauses[turn*20+i])
				}
				finish(t, l, id, m, part, text.String())
			}
			time.Sleep(time.Second)
			cancel()
			wg.Wait()
			for i, r := range readers {
				if r.next[id] != 13 || r.ended != 3 {
					t.Errorf("run %d: reader %d got %d events, %d ends", n, i, r.next[id], r.ended)
				}
			}
			if len(l.hub.sessions) != 0 || len(l.hub.feed) != 0 {
				t.Errorf("run %d: the hub keeps %d sessions", n, len(l.hub.sessions))
			}
		})
	}
}

// A reader that comes in the middle of an item gets the text so far, and then the rest.
func TestFollowMidItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLog(t)
		begin(t, l, id, "msg_a", "prt_a")
		l.Publish(id, "prt_a", "one ")
		l.Publish(id, "prt_a", "two ")
		l.Publish(id, "prt_none", "lost")
		l.Publish("ses_none", "prt_a", "lost")
		l.Publish(id, "prt_a", "")
		var got []string
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for u := range l.Follow(ctx, id, 1) {
				switch {
				case u.Fragment != nil:
					got = append(got, fmt.Sprint(u.Fragment.Offset, u.Fragment.Delta))
				case u.Event != nil:
					got = append(got, string(u.Event.Data.Kind()))
				}
			}
		}()
		synctest.Wait()
		l.Publish(id, "prt_a", "three")
		synctest.Wait()
		finish(t, l, id, "msg_a", "prt_a", "one two three!")
		synctest.Wait()
		cancel()
		<-done
		want := "[session.next.text.started 0one two  8three 13! session.next.text.ended session.next.step.ended]"
		if fmt.Sprint(got) != want {
			t.Errorf("got  %v\nwant %s", got, want)
		}
	})
}

// A reader of history gets no fragments of items that ended before it started.
func TestReplayedItemsHaveNoFragments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLog(t)
		begin(t, l, id, "msg_a", "prt_a")
		finish(t, l, id, "msg_a", "prt_a", "all of it")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, updates := range []func(func(Update, error) bool){l.Follow(ctx, id, -1), l.FollowAll(ctx, fromPosition(0))} {
			wg.Go(func() {
				events := 0
				for u := range updates {
					if u.Fragment != nil {
						t.Errorf("fragment %+v", u.Fragment)
					}
					events++
				}
				if events != 5 {
					t.Errorf("%d updates, want 5", events)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
	})
}

// The feed tells of all sessions, in the order of commits, with the same promises per session and item.
func TestFeedWhileWriting(t *testing.T) {
	for n := range 200 {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(2, uint64(n)))
			l, _ := newLog(t)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			var readers []*orderChecker
			for i := range 3 {
				r := newOrderChecker(t)
				readers = append(readers, r)
				start, lag := time.Duration(rng.IntN(30)), time.Duration(i*rng.IntN(20))
				wg.Go(func() {
					time.Sleep(start)
					position := int64(0)
					for u, err := range l.FollowAll(ctx, fromPosition(0)) {
						if err != nil {
							t.Error(err)
						}
						if u.Event != nil && u.Event.Position <= position {
							t.Errorf("position %d after %d", u.Event.Position, position)
						} else if u.Event != nil {
							position = u.Event.Position
						}
						r.take(u)
						time.Sleep(lag)
					}
				})
			}
			var writers sync.WaitGroup
			for s := range 3 {
				nap := time.Duration(rng.IntN(12))
				writers.Go(func() {
					ses := session.ID(fmt.Sprint("ses_w", s))
					time.Sleep(nap)
					add(t, l, ses, &session.Created{Info: session.Session{ID: ses}})
					m, part := session.MessageID(fmt.Sprint("msg_", s)), session.PartID(fmt.Sprint("prt_", s))
					begin(t, l, ses, m, part)
					for range 10 {
						l.Publish(ses, part, "abc")
						time.Sleep(nap / 4)
					}
					finish(t, l, ses, m, part, strings.Repeat("abc", 10))
				})
			}
			writers.Wait()
			time.Sleep(time.Second)
			cancel()
			wg.Wait()
			for _, r := range readers {
				if r.ended != 3 {
					t.Errorf("run %d: a reader got %d ends", n, r.ended)
				}
			}
		})
	}
}

// counted counts the reads of a store.
type counted struct {
	store.Store
	views atomic.Int64
}

func (c *counted) View(ctx context.Context, f func(store.Reader) error) error {
	c.views.Add(1)
	return c.Store.View(ctx, f)
}

// However many follow the feed, a commit is read once.
func TestFeedReadsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, memory := newLog(t)
		s := &counted{Store: memory}
		l := New(Config{Store: s, IDs: &session.IDs{}})
		ctx, cancel := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		var seen atomic.Int64
		for range 100 {
			readers.Go(func() {
				last := int64(0)
				for u, err := range l.FollowAll(ctx, fromPosition(0)) {
					if u.Event != nil {
						seen.Add(1)
						if u.Event.Position <= last {
							t.Errorf("position %d after %d", u.Event.Position, last)
						}
						last = u.Event.Position
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		synctest.Wait()
		add(t, l, "ses_a", renamed("0"))
		synctest.Wait()
		s.views.Store(0)
		seen.Store(0)
		for i := range 10 {
			add(t, l, "ses_a", renamed(fmt.Sprint(i)))
			synctest.Wait()
		}
		if n := seen.Load(); n != 1000 {
			t.Errorf("%d events seen, want 1000", n)
		}
		if n := s.views.Load(); n > 20 {
			t.Errorf("%d reads for 10 commits", n)
		}
		cancel()
		readers.Wait()
	})
}

// A feed from now on starts after the newest event and gets the new text of open items. A reader that starts from a
// mark gets the notices made since, if the mark is older than them.
func TestFeedFromAMark(t *testing.T) {
	l, _ := newLog(t)
	l.Notify(Notice{Kind: "before"})
	add(t, l, "ses_a", renamed("0"))
	at := l.NewestMark()
	l.Notify(Notice{Kind: "between"})
	add(t, l, "ses_a", renamed("1"))
	l.Notify(Notice{Kind: "behind"})
	var got []string
	for u, err := range l.FollowAll(t.Context(), at) {
		switch {
		case err != nil:
			t.Fatal(err)
		case u.Event != nil:
			got = append(got, fmt.Sprint("event ", u.Event.Position-at.Position))
		case u.Notice != nil:
			got = append(got, fmt.Sprint(u.Notice.Kind, " ", u.Notice.Number-at.Notice))
		}
		if len(got) == 3 {
			break
		}
	}
	if strings.Join(got, ", ") != "between 1, event 1, behind 2" {
		t.Error(got)
	}
	if now := l.NewestMark(); now.Position != at.Position+1 || now.Notice != at.Notice+2 {
		t.Errorf("the newest is %v, was %v", now, at)
	}
}

// An item that was open when a reader started is sent with its text, even if it ended before the first read; an
// item that had ended before is not.
func TestFeedFromAMarkInAnItem(t *testing.T) {
	l, _ := newLog(t)
	start := l.NewestMark()
	begin(t, l, id, "msg_a", "prt_a")
	finish(t, l, id, "msg_a", "prt_a", "before")
	begin(t, l, id, "msg_b", "prt_b")
	l.Publish(id, "prt_b", "after")
	at := l.NewestMark()
	finish(t, l, id, "msg_b", "prt_b", "afterwards")
	at.Position = start.Position // it comes again, and reads what it missed
	said := ""
	for u, err := range l.FollowAll(t.Context(), at) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Fragment != nil {
			said += u.Fragment.Delta
		}
		if u.Event != nil && u.Event.Position == l.NewestMark().Position {
			break
		}
	}
	if said != "afterwards" {
		t.Errorf("the reader got %q", said)
	}
}

// At the live end the text so far of an open item is left out, and what follows is not.
func TestFeedFromTheLiveEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLog(t)
		begin(t, l, id, "msg_a", "prt_a")
		l.Publish(id, "prt_a", "early ")
		at := l.NewestMark()
		at.LiveEnd = true
		var got []string
		ctx, cancel := context.WithCancel(t.Context())
		var reader sync.WaitGroup
		reader.Go(func() {
			for u := range l.FollowAll(ctx, at) {
				if u.Fragment != nil {
					got = append(got, u.Fragment.Delta)
				}
			}
		})
		synctest.Wait()
		l.Publish(id, "prt_a", "late")
		synctest.Wait()
		cancel()
		reader.Wait()
		if !slices.Equal(got, []string{"late"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestFeedFromNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLog(t)
		begin(t, l, id, "msg_a", "prt_a")
		l.Publish(id, "prt_a", "old")
		var got []string
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for u := range l.FollowAll(ctx, fromPosition(-1)) {
				switch {
				case u.Fragment != nil:
					got = append(got, fmt.Sprint(u.Fragment.Offset, u.Fragment.Delta))
				case u.Event != nil:
					got = append(got, string(u.Event.Data.Kind()))
				case u.Notice != nil:
					got = append(got, u.Notice.Kind)
				}
			}
		}()
		synctest.Wait()
		l.Publish(id, "prt_a", "new")
		l.Notify(Notice{Kind: "session.status", SessionID: id, Data: jsontext.Value(`{}`)})
		synctest.Wait()
		finish(t, l, id, "msg_a", "prt_a", "oldnew")
		synctest.Wait()
		cancel()
		<-done
		if want := "[3new session.status session.next.text.ended session.next.step.ended]"; fmt.Sprint(got) != want {
			t.Errorf("got  %v\nwant %s", got, want)
		}
	})
}

// A slow reader delays no other reader, costs no memory beyond the text itself, and gets fewer, larger fragments;
// notices that it misses are dropped.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLog(t)
		begin(t, l, id, "msg_a", "prt_a")
		ctx, cancel := context.WithCancel(t.Context())
		r := newOrderChecker(t)
		fragments, notices, last := 0, 0, ""
		done := make(chan struct{})
		go func() {
			defer close(done)
			for u := range l.Follow(ctx, id, -1) {
				r.take(u)
				if u.Fragment != nil {
					fragments++
				}
				if u.Notice != nil {
					notices, last = notices+1, string(u.Notice.Data)
				}
				time.Sleep(time.Minute)
			}
		}()
		synctest.Wait()
		started := time.Now()
		for i := range 5000 {
			l.Publish(id, "prt_a", "x")
			l.Notify(Notice{Kind: "k", SessionID: id, Data: jsontext.Value(fmt.Sprint(i))})
		}
		finish(t, l, id, "msg_a", "prt_a", strings.Repeat("x", 5000))
		if time.Since(started) != 0 {
			t.Error("the writer was held up")
		}
		time.Sleep(100 * 24 * time.Hour)
		cancel()
		<-done
		if r.next[id] != 5 || r.ended != 1 || fragments > 5 {
			t.Errorf("%d events, %d ends, %d fragments", r.next[id], r.ended, fragments)
		}
		if notices < maxNotices || notices > 2*maxNotices || last != "4999" {
			t.Errorf("%d notices, the last one %s", notices, last)
		}
	})
}

// A reader that has read much keeps little.
func TestOffsetsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLog(t)
		ctx, cancel := context.WithCancel(t.Context())
		w := newWaiter()
		l.hub.joinSession(id, w)
		f := &follower{
			reader{log: l, cursor: -1, offsets: offsets{}, yield: func(Update, error) bool { return true }}, id,
		}
		for i := range 3 * maxOffsets {
			m, part := session.MessageID(fmt.Sprint("msg_", i)), session.PartID(fmt.Sprint("prt_", i))
			begin(t, l, id, m, part)
			finish(t, l, id, m, part, "x")
			f.readRound(ctx)
		}
		if len(f.offsets) > maxOffsets {
			t.Errorf("the reader keeps %d offsets", len(f.offsets))
		}
		l.hub.leaveSession(id, w)
		cancel()
	})
}

// Readers come and go without leaving anything behind, also in the middle of everything.
func TestHubForgets(t *testing.T) {
	l, _ := newLog(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range l.Follow(t.Context(), id, -1) {
				break
			}
			for range l.FollowAll(t.Context(), fromPosition(0)) {
				break
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			for range tailEvents(ctx, l, id, -1) {
				t.Error("a reader got an update after its ctx ended")
			}
		})
	}
	wg.Wait()
	if len(l.hub.sessions) != 0 || len(l.hub.feed) != 0 {
		t.Errorf("the hub keeps %d sessions and %d readers", len(l.hub.sessions), len(l.hub.feed))
	}
}

// Tail pages through a long log while it grows.
func TestTailPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLog(t)
		for range 3 * page {
			add(t, l, id, renamed("x"))
		}
		next := int64(5)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for e, err := range tailEvents(ctx, l, id, 4) {
			if err != nil || e.Seq != next {
				t.Fatalf("seq %d, want %d, %v", e.Seq, next, err)
			}
			if next++; next == 100 {
				add(t, l, id, renamed("y"), renamed("z"))
			}
			if next == 3*page+3 {
				cancel()
			}
		}
	})
}

// A reader of all sessions gets a notice after the events before it and before the events after it, however late it
// reads.
func TestNoticesStandAmongTheEvents(t *testing.T) {
	l, _ := newLog(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for u, err := range l.FollowAll(ctx, fromPosition(0)) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case u.Event != nil && u.Event.Seq == 0: // from here on the reader is late
			l.Notify(Notice{Kind: "busy", SessionID: id})
			add(t, l, id, &session.Renamed{Title: "a"})
			l.Notify(Notice{Kind: "idle", SessionID: id})
			add(t, l, id, &session.Renamed{Title: "b"})
		case u.Event != nil:
			got = append(got, u.Event.Data.(*session.Renamed).Title)
		case u.Notice != nil:
			got = append(got, u.Notice.Kind)
		}
		if len(got) == 4 {
			break
		}
	}
	if order := strings.Join(got, " "); order != "busy a idle b" {
		t.Errorf("the reader got %s", order)
	}
}
