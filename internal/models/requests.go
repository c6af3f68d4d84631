package models

import (
	"cmp"
	"context"
	"iter"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/llm"
)

// defaultRequests is the number of requests to one provider that run at the same time.
const defaultRequests = 128

// requestSlots bounds the requests to each provider that run at the same time. Each session that works makes one.
type requestSlots struct {
	mu        sync.Mutex // guards what follows
	most      int
	providers map[string]*semaphore.Weighted
}

// limitRequests returns the model with a bound that all models of the provider share; 0 is the default.
func (s *requestSlots) limitRequests(m llm.Model, provider string, most int) llm.Model {
	most = cmp.Or(most, defaultRequests)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most != most { // requests under the earlier bound are not counted
		s.most, s.providers = most, map[string]*semaphore.Weighted{}
	}
	if s.providers[provider] == nil {
		s.providers[provider] = semaphore.NewWeighted(int64(most))
	}
	return limitedModel{m, s.providers[provider]}
}

// limitedModel waits for one of the slots before each request. The clocks of a request start after that.
type limitedModel struct {
	llm.Model
	slots *semaphore.Weighted
}

// Stream implements llm.Model.
func (m limitedModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := m.slots.Acquire(ctx, 1); err != nil {
			yield(nil, llm.AsError(ctx, err))
			return
		}
		defer m.slots.Release(1)
		m.Model.Stream(ctx, req)(yield)
	}
}
