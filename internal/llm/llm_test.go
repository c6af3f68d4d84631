package llm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
)

func TestWatch(t *testing.T) {
	clocks := llm.Clocks{Connect: 10 * time.Second, FirstByte: 60 * time.Second, Silence: 120 * time.Second}
	for _, c := range []struct {
		name   string
		clocks llm.Clocks
		do     func(w *llm.Watchdog)
		phase  llm.Phase
		after  time.Duration
	}{
		{"no connection", clocks, func(*llm.Watchdog) {}, llm.PhaseConnect, 10 * time.Second},
		{"the defaults", llm.Clocks{}, func(*llm.Watchdog) {}, llm.PhaseConnect, llm.DefaultConnect},
		{"no response headers", clocks, func(w *llm.Watchdog) { w.MarkConnected() }, llm.PhaseFirstByte, 60 * time.Second},
		{"marking the connection again restarts the clock", clocks, func(w *llm.Watchdog) {
			w.MarkConnected()
			time.Sleep(30 * time.Second)
			w.MarkConnected()
		}, llm.PhaseFirstByte, 90 * time.Second},
		{"silence", clocks, func(w *llm.Watchdog) { w.MarkConnected(); w.MarkByte() }, llm.PhaseSilence, 120 * time.Second},
		{"every byte restarts the clock", clocks, func(w *llm.Watchdog) {
			for range 10 {
				w.MarkByte()
				time.Sleep(100 * time.Second)
			}
			w.MarkByte()
		}, llm.PhaseSilence, 1120 * time.Second},
		{
			"a late connection mark changes nothing", clocks, func(w *llm.Watchdog) { w.MarkByte(); w.MarkConnected() },
			llm.PhaseSilence, 120 * time.Second,
		},
		{"no bound on connecting", llm.Clocks{Connect: -1, FirstByte: time.Second}, func(w *llm.Watchdog) {
			time.Sleep(time.Hour)
			w.MarkConnected()
		}, llm.PhaseFirstByte, time.Hour + time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, w := llm.Watch(t.Context(), c.clocks)
				defer w.Stop()
				c.do(w)
				<-ctx.Done()
				e := llm.AsError(ctx, ctx.Err())
				if e.Class != llm.Timeout || e.Phase != c.phase || !e.IsRetryable() || time.Since(start) != c.after {
					t.Errorf("%v in phase %q after %s, want %q after %s", e, e.Phase, time.Since(start), c.phase, c.after)
				}
			})
		})
	}
}

func TestWatchStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, w := llm.Watch(t.Context(), llm.Clocks{})
		w.Stop()
		w.Stop()
		w.MarkByte() // no effect after Stop
		time.Sleep(time.Hour)
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			t.Errorf("cause %v", cause)
		}
	})
}

func TestAsError(t *testing.T) {
	own := &llm.Error{Class: llm.RateLimit, Message: "slow down", Status: 429}
	if got := llm.AsError(t.Context(), fmt.Errorf("send: %w", own)); got != own {
		t.Errorf("got %v, want the error inside", got)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("cancelled by the user"))
	if got := llm.AsError(stopped, own); got.Class != llm.Aborted {
		t.Errorf("class %s, want aborted: a cancellation takes precedence over the error", got.Class)
	}
	if got := llm.AsError(t.Context(), errors.New("x")); got.Class != llm.Unknown || got.IsRetryable() {
		t.Errorf("got %v, want an unknown error that is not retryable", got)
	}
}

func TestIsRetryable(t *testing.T) {
	for class, want := range map[llm.Class]bool{
		llm.Auth: false, llm.Forbidden: false, llm.Quota: false, llm.ContentFilter: false, llm.InvalidRequest: false,
		llm.Overflow: false, llm.Aborted: false,
		llm.Unknown: false, llm.RateLimit: true, llm.Overloaded: true, llm.Transport: true, llm.Timeout: true,
		llm.Incomplete: true,
		llm.Malformed:  true, llm.Empty: true,
	} {
		if (&llm.Error{Class: class, Permanent: true}).IsRetryable() {
			t.Errorf("%s: a permanent error is retryable", class)
		}
		if got := (&llm.Error{Class: class}).IsRetryable(); got != want {
			t.Errorf("%s: %v, want %v", class, got, want)
		}
	}
}

func TestTurnBreakpoints(t *testing.T) {
	conversation := func(roles string) (ms []llm.Message) {
		for _, r := range roles {
			ms = append(
				ms,
				llm.Message{
					Role: map[rune]llm.Role{'u': llm.RoleUser, 'a': llm.RoleAssistant, 't': llm.RoleTool, 's': llm.RoleSystem}[r],
				},
			)
		}
		return ms
	}
	tests := []struct {
		name, roles string
		system      int
		want        llm.CacheBreakpoints
	}{
		{"nothing", "", 0, llm.CacheBreakpoints{}},
		{"first", "u", 3, llm.CacheBreakpoints{System: 2, Messages: []int{0}}},
		{"after an answer", "uau", 1, llm.CacheBreakpoints{System: 1, Messages: []int{0, 2}}},
		{"many results", "uattts", 1, llm.CacheBreakpoints{System: 1, Messages: []int{0, 5}}},
		{"two answers, the second after a tool result", "uatau", 1, llm.CacheBreakpoints{System: 1, Messages: []int{2, 4}}},
		{"continuing an answer", "uaa", 1, llm.CacheBreakpoints{System: 1, Messages: []int{0, 2}}},
		{"an answer first", "au", 0, llm.CacheBreakpoints{Messages: []int{1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := llm.TurnBreakpoints(&llm.Request{System: make([]string, tt.system), Messages: conversation(tt.roles)})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
