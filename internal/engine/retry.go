package engine

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// retryState bounds the attempts of one turn: in number, in time, and more tightly for empty answers, which cost money
// and seldom improve.
type retryState struct {
	model    *session.ModelRef // of the attempts; another model starts over
	failures int
	empty    int
	repeated int // failures since the first one after which a retry repeats text that readers saw
	first    time.Time
}

// forModel returns the state for the next attempt with the model.
func (s retryState) forModel(m session.ModelRef) retryState {
	if s.model != nil && !s.model.Equal(m) {
		s = retryState{}
	}
	s.model = &m
	return s
}

// The waits between attempts when the provider names none.
const (
	firstWait = 2 * time.Second
	maxWait   = 30 * time.Second
)

// Next counts a failure and returns how long to wait before the next attempt; again is false if there is none. spoke
// reports that the failed answer had content.
func (s *retryState) Next(e *llm.Error, spoke bool, lim Limits, now time.Time) (wait time.Duration, again bool) {
	s.countFailure(spoke)
	if s.first.IsZero() {
		s.first = now
	}
	if e.Class == llm.Empty || e.Class == llm.Malformed {
		s.empty++
	}
	if !e.IsRetryable() || s.failures >= lim.Attempts || s.empty > lim.EmptyRepeats || s.repeated > lim.SpokenRepeats {
		return 0, false
	}
	wait = e.RetryAfter
	if wait <= 0 {
		wait = time.Duration(float64(backoff(s.failures)) * (0.8 + 0.4*rand.Float64()))
	}
	if now.Add(wait).Sub(s.first) > lim.RetryTime {
		return 0, false
	}
	return wait, true
}

// countFailure counts a failure. After an answer that broke off, each further attempt counts as a repeat, also one that
// fails without content.
func (s *retryState) countFailure(spoke bool) {
	s.failures++
	if spoke || s.repeated > 0 {
		s.repeated++
	}
}

// backoff returns the wait after the n-th failure in a row.
func backoff(n int) time.Duration { return min(maxWait, firstWait<<min(n-1, 8)) }

// retryWaits are the waits before a retry, by session, so that they can be cut short. A cut is a hint: the rows decide
// whether the retry comes early.
type retryWaits struct {
	mu sync.Mutex // guards m
	m  map[session.ID]chan struct{}
}

// Begin returns a channel that receives the cuts of the session's wait, and what ends the wait.
func (w *retryWaits) Begin(id session.ID) (cuts <-chan struct{}, end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.m == nil {
		w.m = map[session.ID]chan struct{}{}
	}
	c := make(chan struct{}, 1) // further cuts add nothing
	w.m[id] = c
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.m, id)
	}
}

// Cut cuts the session's wait, if it waits.
func (w *retryWaits) Cut(id session.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.m[id] <- struct{}{}:
	default:
	}
}
