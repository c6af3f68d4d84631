package turnlog

import (
	"math/rand/v2"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// RetryLimits bounds the attempts of one turn: in number, in time, and more tightly for empty answers, which cost money and
// seldom improve.
type RetryLimits struct {
	Attempts     int
	EmptyRepeats int           // retries after empty or malformed answers
	Time         time.Duration // from the first failure to giving up
}

// RetryState counts the failed attempts of one turn. The zero value is a turn without a failure.
type RetryState struct {
	model    *session.ModelRef // of the attempts; another model starts over
	failures int
	empty    int       // those whose answer was empty or malformed
	once     bool      // one failed with an llm.Error.Once, which may be repeated only once
	first    time.Time // of the failures
}

// FailureCount returns the number of failed attempts.
func (s *RetryState) FailureCount() int { return s.failures }

// ForModel returns the state for the next attempt with the model.
func (s RetryState) ForModel(m session.ModelRef) RetryState {
	if s.model != nil && !s.model.Equal(m) {
		s = RetryState{}
	}
	s.model = &m
	return s
}

// The waits between attempts when the provider names none.
const (
	firstWait = 2 * time.Second
	maxWait   = 30 * time.Second
)

// Next counts a failure and returns how long to wait before the next attempt; again is false if no attempt may follow.
// A request that the provider refused and that was changed (llm.Error.Cured) is sent again at once. A wait that the
// provider names is used as it is, unless it exceeds the limit of time.
func (s *RetryState) Next(e *llm.Error, lim RetryLimits, now time.Time) (wait time.Duration, again bool) {
	// Count the failure, and check the limits of the number of attempts.
	s.countFailure(e.Class == llm.Empty || e.Class == llm.Malformed)
	if s.first.IsZero() {
		s.first = now
	}
	isLast := e.Once && s.once
	s.once = s.once || e.Once
	if !e.IsRetryable() || isLast || s.failures >= lim.Attempts || s.empty > lim.EmptyRepeats {
		return 0, false
	}
	// Find the wait, and check the limit of time.
	if e.Cured {
		return 0, true
	}
	wait = e.RetryAfter
	if wait <= 0 {
		wait = time.Duration(float64(Backoff(s.failures)) * (0.8 + 0.4*rand.Float64()))
	}
	if now.Add(wait).Sub(s.first) > lim.Time {
		return 0, false
	}
	return wait, true
}

// countFailure counts a failure. isEmpty reports that the answer was empty or malformed.
func (s *RetryState) countFailure(isEmpty bool) {
	s.failures++
	if isEmpty {
		s.empty++
	}
}

// Backoff returns the wait after the n-th failure in a row; n is at least 1.
func Backoff(n int) time.Duration { return min(maxWait, firstWait<<min(n-1, 8)) }
