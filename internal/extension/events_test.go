package extension

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestNotifier: events of a session are told in their order, beside those of others; what is too much is dropped, and
// Close waits for the rest or stops it.
func TestNotifier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		told := map[session.ID][]string{}
		c := NewChain(Config{Budget: time.Hour, Extensions: []Extension{{
			ID: "told", Event: func(ctx context.Context, e *Event) error {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return ctx.Err()
				}
				mu.Lock()
				defer mu.Unlock()
				told[e.SessionID] = append(told[e.SessionID], e.Text)
				return nil
			},
		}}})
		var n Notifier
		for i := range 3 {
			n.Notify(c, Event{SessionID: "a", Text: fmt.Sprint(i)})
		}
		n.Notify(c, Event{SessionID: "b", Text: "x"})
		n.Notify(nil, Event{SessionID: "b", Text: "nobody"})
		time.Sleep(1500 * time.Millisecond)
		mu.Lock()
		if len(told["a"]) != 1 || len(told["b"]) != 1 {
			t.Errorf("after one event of each: %v", told)
		}
		mu.Unlock()
		for range 2 * maxEvents {
			n.Notify(c, Event{SessionID: "c"})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := n.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close returned %v", err)
		}
		synctest.Wait() // what Close stopped has ended
		n.Notify(c, Event{SessionID: "a", Text: "late"})
		if !slices.Equal(told["a"], []string{"0", "1", "2"}) {
			t.Errorf("the events of a session: %v", told["a"])
		}
		if n := len(told["c"]); n < 8 || n > 11 {
			t.Errorf("%d events were told until Close gave up", n)
		}
	})
}

// TestOwnTimeout: an extension with a time of its own is not bounded by the budget of the chain, and a lenient one that
// fails fails nothing.
func TestOwnTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, v *Call) error {
			select {
			case <-time.After(30 * time.Second):
				v.Context = "slow"
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		call := func(list ...Extension) (Call, error) {
			v := Call{Input: jsontext.Value(`{}`)}
			_, err := NewChain(Config{Extensions: list}).Begin().Call(t.Context(), &v)
			return v, err
		}
		if v, err := call(Extension{ID: "slow", Timeout: time.Minute, Call: slow}); err != nil || v.Context != "slow" {
			t.Errorf("with a minute: %+v %v", v, err)
		}
		if _, err := call(Extension{ID: "slow", Timeout: 10 * time.Second, Call: slow}); err == nil {
			t.Error("ten seconds suffice for thirty")
		}
		if _, err := call(Extension{ID: "slow", Lenient: true, Call: slow}); err != nil {
			t.Errorf("a lenient one fails the call: %v", err)
		}
	})
}
