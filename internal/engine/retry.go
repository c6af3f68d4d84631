package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// ledger bounds the attempts of one turn: in number, in time, and more tightly for empty answers, which cost money and
// seldom get better (spec/guarantees G20).
type ledger struct {
	failures int
	empty    int
	spoken   int // failures after something was said, which a retry says again
	first    time.Time
}

// The waits between attempts when the provider names none (spec/v2 §28.11).
const (
	firstWait = 2 * time.Second
	maxWait   = 30 * time.Second
)

// next enters a failure and says how long to wait before the next attempt, or that there is none.
func (l *ledger) next(e *llm.Error, spoke bool, lim Limits, now time.Time) (wait time.Duration, again bool) {
	l.failures++
	if spoke {
		l.spoken++
	}
	if l.first.IsZero() {
		l.first = now
	}
	if e.Class == llm.Empty || e.Class == llm.Malformed {
		l.empty++
	}
	if !e.Retryable() || l.failures >= lim.Attempts || l.empty > lim.EmptyRepeats || l.spoken > lim.SpokenRepeats {
		return 0, false
	}
	wait = e.RetryAfter
	if wait <= 0 {
		wait = min(maxWait, firstWait<<min(l.failures-1, 8))
		wait = time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
	}
	if now.Add(wait).Sub(l.first) > lim.RetryTime {
		return 0, false
	}
	return wait, true
}

// pauses are the waits between attempts that can be cut short: who steers or chooses another model wants to go on now.
type pauses struct {
	mu sync.Mutex // guards m
	m  map[session.ID]chan struct{}
}

// begin returns a channel that is closed when the pause of the session is cut short, and what ends the pause.
func (p *pauses) begin(id session.ID) (short <-chan struct{}, end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.m == nil {
		p.m = map[session.ID]chan struct{}{}
	}
	c := make(chan struct{})
	p.m[id] = c
	return c, func() { p.cut(id) }
}

// cut ends the session's pause, if it makes one.
func (p *pauses) cut(id session.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.m[id]; c != nil {
		close(c)
		delete(p.m, id)
	}
}

// pause records the failed attempt, shows when the next one is made, and waits for it. A steer or another choice of
// model or agent ends the wait at once (spec/v2 §28.11).
func (d *drain) pause(ctx context.Context, e *llm.Error, wait time.Duration) error {
	short, end := d.pauses.begin(d.id)
	defer end()
	next := d.now().Add(wait).UnixMilli()
	fact := &session.Retried{Attempt: d.tries.failures, Next: next, Error: session.RetryError{
		Message: e.Error(), StatusCode: e.Status, IsRetryable: true, ResponseBody: e.Body,
	}}
	if _, err := d.log.Append(context.WithoutCancel(ctx), d.id, store.Relaxed, existing(d.id, fact)); err != nil {
		return err
	}
	d.statuses.set(d.Engine, d.id, Status{Type: StatusRetry, Attempt: d.tries.failures, Message: e.Message, Next: next})
	defer d.statuses.set(d.Engine, d.id, Status{Type: StatusBusy})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-short:
		return nil
	case <-timer.C:
		return nil
	}
}
