package models

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
)

// slowModel answers each request after a minute and counts those that run.
type slowModel struct{ running, most atomic.Int64 }

func (m *slowModel) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		m.most.Store(max(m.most.Load(), m.running.Add(1)))
		defer m.running.Add(-1)
		select {
		case <-time.After(time.Minute):
			yield(llm.Finish{Reason: llm.FinishStop}, nil)
		case <-ctx.Done():
			yield(nil, llm.AsError(ctx, context.Cause(ctx)))
		}
	}
}

// TestRequestsOfProvider: the models of a provider share a bound; other providers have their own. A request that is
// cancelled while it waits ends at once.
func TestRequestsOfProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slots requestSlots
		one, other := &slowModel{}, &slowModel{}
		var all sync.WaitGroup
		began := time.Now()
		for range 5 {
			for _, m := range []llm.Model{
				slots.limitRequests(one, "one", 4), slots.limitRequests(one, "one", 4), slots.limitRequests(other, "other", 4),
			} {
				all.Go(func() {
					for _, err := range m.Stream(t.Context(), &llm.Request{}) {
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range slots.limitRequests(one, "one", 4).Stream(ctx, &llm.Request{}) {
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Class != llm.Aborted {
				t.Errorf("cancelled while it waited: %v", err)
			}
		}
		all.Wait()
		if one.most.Load() != 4 || other.most.Load() != 4 || time.Since(began) != 3*time.Minute {
			t.Errorf("%d and %d at once, all after %s; want 4, 4 and 3m", one.most.Load(), other.most.Load(), time.Since(began))
		}
	})
}
