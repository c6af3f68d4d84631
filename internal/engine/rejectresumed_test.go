package engine

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// TestRejectResumedAsk: after a restart one of several asks is rejected, which ends calls that have not asked again.
// Another ask is answered while their outcomes are being stored. The turn ends as denied, and each ask has one reply.
func TestRejectResumedAsk(t *testing.T) {
	var calls []string
	for _, path := range []string{"a", "b", "c", "d"} {
		calls = append(calls, `{"call": {"name": "edit", "arguments": {"path": "`+path+`", "token": "`+path+`"}}}`)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newCutOffWorld(t, strings.Join(calls, ","))
		asks := pendingAsks(t, w)
		var writes atomic.Int64
		w.wrap = func(s store.Store) store.Store {
			return storetest.NewFailing(s, func(int) error {
				if n := writes.Add(1); n >= 2 && n <= 5 { // after the rejection: the outcomes of the calls
					time.Sleep(10 * time.Second)
				}
				return nil
			})
		}
		w.limits.CallTools = 1 // the other calls do not run before the first one has its reply
		w.start()
		if _, err := w.engine.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		writes.Store(0)
		reject := ask.UserReply{Reply: session.ReplyReject}
		if err := w.engine.Asks.Reply(t.Context(), "ses_a", asks[0], reject); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		_ = w.engine.Asks.Reply(t.Context(), "ses_a", asks[1], reject) // after 5 seconds without a waiter
		if err := w.engine.Wait(t.Context(), "ses_a"); err != nil {
			t.Log(err)
		}
		for _, m := range messagesOf(t, w) {
			a, ok := m.(*session.Assistant)
			if ok && (a.Error == nil || a.Error.Reason != session.ReasonDenied) {
				t.Errorf("the turn ended with %+v", a.Error)
			}
		}
		w.close(t)
		prove(t, w)
	})
}
