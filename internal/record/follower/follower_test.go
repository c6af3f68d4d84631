package follower_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

const id = session.ID("ses_a")

// world is a store with its log, and a consumer that notes what it gets.
type world struct {
	t      *testing.T
	memory *storetest.Memory
	log    *eventlog.Log
	file   string

	mu       sync.Mutex // guards the fields below
	calls    []string   // "rebuild" with its progress, or positions of events with their kinds
	unsynced []string   // the calls of which the results are not durable
	syncs    int
	biggest  int // events of a batch
	fail     error
	failSync error
	after    func()   // runs at the end of a call that did not fail
	saves    []string // progress that a rebuild saves
	logs     strings.Builder
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, file: filepath.Join(t.TempDir(), "state", "cursor.json")}
	w.replaceStore()
	return w
}

func (w *world) replaceStore() {
	w.memory = storetest.NewMemory()
	w.log = eventlog.New(eventlog.Config{Store: w.memory, IDs: &session.IDs{}})
}

func (w *world) Rebuild(_ context.Context, progress string, save func(string) error) error {
	w.mu.Lock()
	saves := w.saves
	w.mu.Unlock()
	for _, s := range saves {
		if err := save(s); err != nil {
			return err
		}
	}
	return w.call(strings.TrimSpace("rebuild " + progress))
}

func (w *world) Sync(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.syncs, w.unsynced = w.syncs+1, nil
	return w.failSync
}

// failSyncWith makes the syncs fail; nil ends it.
func (w *world) failSyncWith(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failSync = err
}

func (w *world) countSyncs() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.syncs
}

// checkCursor fails if the stored cursor claims more than what is durable, or another position than the wanted one.
func (w *world) checkCursor(want int64) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err := os.ReadFile(w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	var c struct {
		Position int64 `json:"position"`
	}
	if err := json.Unmarshal(text, &c); err != nil || c.Position != want {
		w.t.Errorf("the cursor is %s, want position %d", text, want)
	}
	for _, call := range w.unsynced {
		var first int64
		if _, err := fmt.Sscan(strings.Split(call, ".")[0], &first); err == nil && first <= c.Position {
			w.t.Errorf("the cursor is at %d, and %s is not durable", c.Position, call)
		}
	}
}

func (w *world) Apply(_ context.Context, rows []store.EventRow) error {
	w.mu.Lock()
	w.biggest = max(w.biggest, len(rows))
	w.mu.Unlock()
	words := make([]string, len(rows))
	for i, r := range rows {
		words[i] = fmt.Sprintf("%d%s", r.Position, strings.TrimPrefix(string(r.Kind), "session.next"))
	}
	return w.call(strings.Join(words, " "))
}

func (w *world) call(text string) error {
	w.mu.Lock()
	w.calls = append(w.calls, text)
	fail, after := w.fail, w.after
	if fail == nil {
		w.unsynced = append(w.unsynced, text)
	}
	w.mu.Unlock()
	if after != nil && fail == nil {
		after()
	}
	return fail
}

// failWith makes the calls fail; nil ends it.
func (w *world) failWith(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

// doAfter sets what a call that does not fail ends with.
func (w *world) doAfter(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = f
}

// take returns the calls since the last one.
func (w *world) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.calls
	w.calls = nil
	return out
}

// start runs a follower until the function that it returns is called.
func (w *world) start() (stop func()) {
	f := &follower.Follower{
		Name: "test", Store: w.memory, Log: w.log, Consumer: w, File: w.file,
		Logger: slog.New(slog.NewTextHandler(&w.logs, nil)),
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	return func() { cancel(); <-done }
}

// idle lets the follower do everything that it can, with the pauses between batches.
func idle() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func (w *world) add(of session.ID, data ...session.EventData) {
	w.t.Helper()
	_, err := w.log.Append(w.t.Context(), of, store.Relaxed, func(store.Tx) ([]eventlog.Draft, error) {
		return eventlog.NewDrafts(data...), nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(of session.ID) { w.add(of, &session.Created{Info: session.Session{ID: of}}) }

func (w *world) rename(of session.ID) { w.add(of, &session.Renamed{Title: "x"}) }

func (w *world) delete(of session.ID) {
	w.t.Helper()
	err := w.log.AppendDeleted(w.t.Context(), of, session.Session{ID: of}, func(tx store.Tx) error {
		return tx.DeleteSession(of)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) expect(what string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.take()); diff != "" {
		w.t.Errorf("%s: %s", what, diff)
	}
}

// The first run begins with a rebuild; a later one goes on behind the cursor, and deletions are seen.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		w.rename(id)
		stop := w.start()
		idle()
		w.expect("the first run", "rebuild")
		w.rename(id)
		w.rename(id)
		idle()
		w.expect("events that come together", "3.renamed 4.renamed")
		stop()
		w.create("ses_b")
		w.rename("ses_b")
		w.delete("ses_b")
		stop = w.start()
		idle()
		w.expect("the second run", "7session.deleted")
		w.checkCursor(7)
		w.delete(id)
		idle()
		w.expect("a deletion", "8session.deleted")
		stop()
		stop = w.start()
		idle()
		w.expect("nothing new")
		stop()
	})
}

// An end between the consumer and the cursor delivers the batch again.
func TestEndBeforeTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		stop := w.start()
		idle()
		w.expect("the first run", "rebuild")
		stop()
		before, err := os.ReadFile(w.file)
		if err != nil {
			t.Fatal(err)
		}
		w.rename(id)
		stop = w.start()
		idle()
		stop()
		w.expect("the batch", "2.renamed")
		// As if the process had been killed before it stored the cursor.
		if err := os.WriteFile(w.file, before, 0o600); err != nil {
			t.Fatal(err)
		}
		stop = w.start()
		idle()
		w.expect("the batch again", "2.renamed")
		stop()
		// The cursor cannot be stored: its folder is a file.
		if err := os.RemoveAll(filepath.Dir(w.file)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Dir(w.file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		stop = w.start()
		idle()
		stop()
		if !strings.Contains(w.logs.String(), "not a directory") {
			t.Errorf("the log does not say that the cursor cannot be stored: %s", &w.logs)
		}
	})
}

// A failed batch is given again, later each time, and nothing is left out. Appends go on meanwhile.
func TestConsumerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		stop := w.start()
		defer func() { stop() }()
		idle()
		w.take()
		full := errors.New("full")
		w.failWith(full)
		w.rename(id)
		idle()
		tries := len(w.take())
		if tries < 2 || tries > 5 {
			t.Errorf("%d attempts in 10 s", tries)
		}
		w.rename(id)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if tries := len(w.take()); tries < 4 || tries > 8 {
			t.Errorf("%d attempts in the next 5 min", tries)
		}
		w.failWith(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		w.expect("after the failure", "2.renamed 3.renamed")
		w.checkCursor(3)
		if n := strings.Count(w.logs.String(), "error=full"); n != 1 {
			t.Errorf("the failure is logged %d times: %s", n, &w.logs)
		}
	})
}

// What was written since the cursor was stored is given again after an error of Apply or Sync: it may not be durable.
func TestErrorBeforeTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		stop := w.start()
		defer func() { stop() }()
		idle()
		full := errors.New("full")
		w.failSyncWith(full)
		w.rename(id)
		idle()
		w.take()
		w.failSyncWith(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		w.expect("after Sync failed", "2.renamed")
		w.checkCursor(2)
		// The first batch stores its cursor, the second does not yet, and the third fails.
		w.rename(id)
		time.Sleep(time.Second)
		w.rename(id)
		time.Sleep(time.Second)
		synctest.Wait()
		w.expect("batches", "3.renamed", "4.renamed")
		w.checkCursor(3)
		w.failWith(full)
		w.rename(id)
		time.Sleep(time.Second)
		w.failWith(nil)
		w.take()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		w.expect("after Apply failed", "4.renamed 5.renamed")
		w.checkCursor(5)
	})
}

// A cursor that does not fit the store leads to a rebuild.
func TestRebuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name   string
			change func(*world)
			want   []string
		}{
			{"nothing changed", func(*world) {}, nil},
			{"the file is gone", func(w *world) { _ = os.Remove(w.file) }, []string{"rebuild"}},
			{"the file is damaged", func(w *world) { _ = os.WriteFile(w.file, []byte("{"), 0o600) }, []string{"rebuild"}},
			{"an older copy of the store", func(w *world) {
				w.replaceStore()
				w.create(id)
			}, []string{"rebuild"}},
			{"a store with other events", func(w *world) {
				w.replaceStore()
				w.create(id)
				for range 5 {
					w.rename(id)
				}
			}, []string{"rebuild"}},
		} {
			w := newWorld(t)
			w.create(id)
			w.rename(id)
			stop := w.start()
			idle()
			stop()
			w.take()
			c.change(w)
			stop = w.start()
			idle()
			w.expect(c.name, c.want...)
			stop()
		}
	})
}

// The cursor is stored after the consumer has made durable what it wrote: every few seconds under load, and at the end.
func TestCursorClaimsWhatIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		stop := w.start()
		idle()
		w.checkCursor(1)
		before := w.countSyncs()
		for range 100 { // 10 s of load
			w.rename(id)
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if n := w.countSyncs() - before; n < 3 || n > 6 {
			t.Errorf("%d syncs in 10 s", n)
		}
		idle()
		w.checkCursor(101)
		w.rename(id)
		stop()
		w.checkCursor(102)
		if len(w.unsynced) > 0 {
			t.Errorf("the end leaves %v not durable", w.unsynced)
		}
	})
}

// A rebuild that is interrupted goes on where it was, and what was committed since its beginning is delivered.
func TestRebuildGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		w.saves = []string{"a", "b"}
		w.failWith(errors.New("full"))
		stop := w.start()
		synctest.Wait()
		w.rename(id)
		stop()
		w.expect("the first run", "rebuild")
		w.failWith(nil)
		w.saves = nil
		stop = w.start()
		idle()
		w.expect("the second run", "rebuild b", "2.renamed")
		w.checkCursor(2)
		// A consumer that says that it lost what it had is rebuilt from the beginning.
		w.failWith(follower.ErrLost)
		w.rename(id)
		time.Sleep(time.Second / 2)
		synctest.Wait()
		w.failWith(nil)
		idle()
		stop()
		calls := w.take()
		if len(calls) < 3 || calls[0] != "3.renamed" || calls[len(calls)-1] != "rebuild" {
			t.Errorf("after the loss: %v", calls)
		}
		w.checkCursor(3)
	})
}

// A consumer that notices at a Sync that it lost what it had is rebuilt from the beginning.
func TestLossAtSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		stop := w.start()
		idle()
		w.take()
		w.failSyncWith(follower.ErrLost)
		w.rename(id)
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		w.failSyncWith(nil)
		idle()
		stop()
		if calls := w.take(); len(calls) == 0 || calls[len(calls)-1] != "rebuild" {
			t.Errorf("after the loss: %v", calls)
		}
		w.checkCursor(2)
	})
}

// Thousands of events come in bounded batches, each once and in order, also those of a session that is being written.
func TestManyEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		stop := w.start()
		idle()
		stop()
		w.take()
		const n = 3000
		for range n {
			w.rename(id)
		}
		more := 0
		w.doAfter(func() { // events are appended while the consumer works
			if more++; more <= 5 {
				w.rename(id)
			}
		})
		stop = w.start()
		idle()
		stop()
		want := []string{}
		for i := range n + 5 {
			want = append(want, fmt.Sprintf("%d.renamed", i+2))
		}
		got := strings.Fields(strings.Join(w.take(), " "))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if w.biggest > 256 || w.biggest < 100 {
			t.Errorf("the biggest batch has %d events", w.biggest)
		}
	})
}

// A stream of events is taken a few times a second, not once for each.
func TestEventsShareBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		stop := w.start()
		idle()
		w.take()
		for range 100 {
			w.rename(id)
			time.Sleep(10 * time.Millisecond)
		}
		idle()
		stop()
		if n := len(w.take()); n < 2 || n > 10 {
			t.Errorf("%d batches for a second of events", n)
		}
	})
}

// A slow consumer blocks no append.
func TestSlowConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		stop := w.start()
		idle()
		w.take()
		release := make(chan struct{})
		w.doAfter(func() { <-release })
		w.rename(id)
		idle()
		for range 1000 {
			w.rename(id)
		}
		if n := len(w.take()); n != 1 {
			t.Errorf("%d calls at once", n)
		}
		close(release)
		idle()
		stop()
		if got := len(strings.Fields(strings.Join(w.take(), " "))); got != 1000 {
			t.Errorf("%d events after the wait", got)
		}
	})
}

// What was committed before the end is delivered, also within the pause.
func TestEndDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(id)
		stop := w.start()
		idle()
		w.take()
		w.rename(id)
		stop()
		w.expect("at the end", "2.renamed")
		stop = w.start()
		idle()
		w.failWith(errors.New("full"))
		w.rename(id)
		idle()
		w.take()
		stop()
		w.expect("after a failure")
	})
}
