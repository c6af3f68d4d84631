package engine

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// rich is a script that uses every kind of content. Each call has its own token, so that an effect that happens twice
// is detected.
const rich = `{"turns": [
  {"every": "10ms", "steps": [{"text": ["I will ", "write."]},
      {"call": {"name": "write", "arguments": {"token": "t1", "for": "50ms"}}},
      {"call": {"name": "edit", "arguments": {"path": "a", "token": "t2"}}}], "usage": {"input": 1, "output": 1}},
  {"every": "10ms", "steps": [{"reasoning": ["hm", "…"]}, {"text": "more"},
      {"call": {"name": "write", "arguments": {"token": "t3"}}}]},
  {"steps": [{"text": "half"}, {"fault": {"kind": "end"}}]},
  {"every": "10ms", "steps": [{"call": {"name": "edit", "arguments": {"path": "b", "token": "t4"}}},
      {"call": {"name": "fails", "arguments": {}}}]},
  {"every": "10ms", "steps": [{"text": ["one answer", " in parts"]}]},
  {"steps": [{"call": {"name": "write", "arguments": {"token": "t5"}}}]},
  {"repeat": true, "steps": [{"text": "done"}]}
]}`

// client sends prompts, answers asks, and remembers the prompts that were acknowledged.
type client struct {
	mu    sync.Mutex
	acked []session.MessageID
}

func (c *client) prompt(ctx context.Context, e *Engine, id session.MessageID, d session.Delivery) {
	_, err := e.Commands.AdmitPrompt(
		ctx, admit.PromptRequest{SessionID: "ses_a", ID: id, Prompt: session.Prompt{Text: string(id)}, Delivery: d},
	)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.acked = append(c.acked, id)
	}
}

// answer allows every pending ask.
func (c *client) answer(ctx context.Context, e *Engine) {
	rows, err := e.Asks.List(ctx, "ses_a")
	if err != nil {
		return
	}
	for _, a := range rows {
		_ = e.Asks.Reply(ctx, "ses_a", a.ID, ask.UserReply{Reply: session.ReplyOnce})
	}
}

// live lets the session run until it is idle.
func (c *client) live(ctx context.Context, e *Engine) {
	for range 40 {
		synctest.Wait()
		c.answer(ctx, e)
		time.Sleep(3 * time.Second)
	}
}

// TestCrashMatrix stops the process at every fault point, by error and by kill, with and without power loss, and starts
// another one: acknowledged prompts are answered, no effect happens twice, nothing stays open.
func TestCrashMatrix(t *testing.T) {
	inTransaction := []fault.Name{fault.AdmitPreCommit, fault.PromotePreCommit}
	hit, passes := map[fault.Name]bool{}, []int{1, 2, 3, 5, 8, 12}
	if raceEnabled && os.Getenv("CAIRN_SOAK") == "" {
		passes = []int{1, 3}
	}
	for _, point := range []fault.Name{
		fault.AdmitBegin, fault.AdmitPreCommit, fault.AdmitPostCommit, fault.AdmitPreAck,
		fault.PromotePreCommit, fault.PromotePostCommit,
		fault.TurnPreDispatch, fault.TurnHeaders, fault.TurnDelta, fault.TurnFinish,
		fault.ToolExec, fault.ToolPreSettle, fault.ToolSettled, fault.PermAsked, fault.PermReplied,
	} {
		for _, action := range []string{"delay:100000h", "error"} {
			if action != "error" && slices.Contains(inTransaction, point) {
				continue
			}
			for _, n := range passes {
				for _, power := range []bool{false, true} {
					name := fmt.Sprintf("%s/%.5s/%d/power=%v", point, action, n, power)
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							if crash(t, point, fmt.Sprintf("%s#%d=%s", point, n, action), power) > 0 {
								hit[point] = true
							}
						})
					})
				}
			}
		}
		if !hit[point] && !t.Failed() {
			t.Errorf("the fault point %s was never passed", point)
		}
	}
}

// crash runs a process until the fault, ends it, and runs another one. It returns how often the point was passed.
func crash(t *testing.T, at fault.Name, spec string, power bool) int64 {
	s, err := script.Parse([]byte(rich))
	if err != nil {
		t.Fatal("parse the script:", err)
	}
	restore, err := fault.Set(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer restore()
	w := newWorld(t, s)
	ctx, leave := context.WithCancel(t.Context())
	c := &client{}
	first := w.engine
	if _, err := first.Commands.CreateSession(
		ctx, admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}},
	); err != nil {
		t.Fatal("create the session:", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		c.prompt(ctx, first, "msg_1", session.Steer)
		c.prompt(ctx, first, "msg_2", session.Queue)
		time.Sleep(30 * time.Millisecond)
		c.prompt(ctx, first, "msg_3", session.Steer)
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			c.answer(ctx, first)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	time.Sleep(20 * time.Second)
	synctest.Wait()
	passed := fault.HitCounts()[at]
	before := pendingAsks(t, w)
	restoreAll, _ := fault.Set("")
	w.kill(power)
	leave()
	wg.Wait()
	restoreAll()
	quiet, _ := fault.Set("")
	defer quiet()
	if after := pendingAsks(t, w); !power && !slices.Equal(before, after) {
		t.Errorf("the asks %v are %v after the restart", before, after)
	}
	if _, err := w.engine.Recover(t.Context()); err != nil {
		t.Fatal("recover:", err)
	}
	c.live(t.Context(), w.engine)
	answered(t, w, c)
	w.close(t)
	prove(t, w)
	time.Sleep(200_000 * time.Hour) // the killed process can no longer reach the store
	if err := w.doubled(); err != nil {
		t.Error(err)
	}
	recorded(t, w)
	return passed
}

// recorded checks that every effect has a call in the log.
func recorded(t *testing.T, w *world) {
	t.Helper()
	var calls strings.Builder
	for _, row := range allEvents(t, w.store) {
		if row.Kind == session.KindToolCalled {
			calls.Write(row.Data)
		}
	}
	for token := range w.effects {
		if !strings.Contains(calls.String(), `"`+token+`"`) {
			t.Errorf("the effect %s happened, but no call of it is recorded", token)
		}
	}
}

func pendingAsks(t *testing.T, w *world) (ids []session.AskID) {
	t.Helper()
	rows, err := w.engine.Asks.List(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range rows {
		ids = append(ids, a.ID)
	}
	return ids
}

// answered checks that every acknowledged prompt was promoted and is followed by a turn that ended, and that nothing
// is open.
func answered(t *testing.T, w *world, c *client) {
	t.Helper()
	if ids := w.engine.Active(); len(ids) > 0 {
		t.Errorf("sessions are still active: %v", ids)
	}
	if asks := pendingAsks(t, w); len(asks) > 0 {
		t.Errorf("asks are still pending: %v", asks)
	}
	err := w.store.View(context.Background(), func(r store.Reader) error {
		ms, err := store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
		seen, after := map[session.MessageID]bool{}, map[session.MessageID]bool{}
		for _, m := range ms {
			switch m := m.(type) {
			case *session.User:
				seen[m.ID] = true
			case *session.Assistant:
				for id := range seen {
					after[id] = true
				}
				if m.Open() {
					t.Errorf("the turn %s is open", m.ID)
				}
				for _, call := range m.Tools() {
					if !call.State.Status.IsSettled() {
						t.Errorf("the call %s is %s", call.PartID, call.State.Status)
					}
				}
			}
		}
		for _, id := range c.acked {
			if !after[id] {
				t.Errorf("the acknowledged prompt %s has no answer (promoted: %v)", id, seen[id])
			}
		}
		if n := len(ms); n > 0 && err == nil {
			if a, ok := ms[n-1].(*session.Assistant); !ok || a.Finish != "stop" && a.Finish != "error" {
				t.Errorf("the newest message is %T %v", ms[n-1], ok && a.Finish == "")
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestStoreFailures fails every write of a life in turn, once before and once after its commit: nothing is acknowledged
// that is not stored, and once the store works again so does the session, without a restart.
func TestStoreFailures(t *testing.T) {
	for _, how := range []error{storetest.ErrBefore, storetest.ErrAfter} {
		for op := 2; op <= 60; op++ {
			t.Run(fmt.Sprintf("%v/%d", how, op), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { storeFails(t, how, op, 0) })
			})
		}
	}
}

// TestStoreOutages lets no write of a life through for a minute, from each one on in turn: once the store works again
// so does the session, without a restart and without another prompt.
func TestStoreOutages(t *testing.T) {
	for op := 2; op <= 60; op++ {
		t.Run(fmt.Sprint(op), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storeFails(t, storetest.ErrBefore, op, time.Minute) })
		})
	}
}

// storeFails lives a life in which the writes fail from op on for so long, only that one if it is 0.
func storeFails(t *testing.T, how error, op int, long time.Duration) {
	s, err := script.Parse([]byte(rich))
	if err != nil {
		t.Fatal("parse the script:", err)
	}
	w := newWorld(t, s)
	var failed atomic.Bool // the prompts after that show that the session goes on
	var mu sync.Mutex      // guards until
	var until time.Time
	w.wrap = func(s store.Store) store.Store {
		return storetest.NewFailing(s, func(n int) error {
			mu.Lock()
			defer mu.Unlock()
			if n == op {
				failed.Store(true)
				until = time.Now().Add(long)
			}
			if n == op || time.Now().Before(until) {
				return how
			}
			return nil
		})
	}
	w.start()
	if _, err := w.engine.Commands.CreateSession(
		t.Context(), admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}},
	); err != nil {
		t.Fatal("create the session:", err)
	}
	c := &client{}
	for n := 1; n <= 3 && long == 0 || !failed.Load(); n++ {
		id := session.MessageID(fmt.Sprint("msg_", n))
		for range 3 { // a client that tries again with the same id
			n := len(c.acked)
			if c.prompt(t.Context(), w.engine, id, session.Steer); len(c.acked) > n {
				break
			}
		}
		c.live(t.Context(), w.engine)
	}
	if n := len(c.acked); long == 0 {
		c.prompt(t.Context(), w.engine, "msg_last", session.Steer)
		c.live(t.Context(), w.engine)
		if len(c.acked) != n+1 {
			t.Errorf("only %v were admitted", c.acked)
		}
	}
	answered(t, w, c)
	w.close(t)
	prove(t, w)
	if err := w.doubled(); err != nil {
		t.Error(err)
	}
	recorded(t, w)
}
