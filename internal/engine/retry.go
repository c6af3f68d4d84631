package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// ledger bounds the attempts of one turn: in number, in time, and more tightly for empty answers, which cost money and
// seldom get better (spec/guarantees G20).
type ledger struct {
	model    *session.ModelRef // that was asked; another one begins anew
	failures int
	empty    int
	spoken   int // failures from the first on after which a retry says again what was said
	first    time.Time
}

// of is the ledger for a turn of the model.
func (l ledger) of(m session.ModelRef) ledger {
	if l.model != nil && !l.model.Equal(m) {
		l = ledger{}
	}
	l.model = &m
	return l
}

// The waits between attempts when the provider names none (spec/v2 §28.11).
const (
	firstWait = 2 * time.Second
	maxWait   = 30 * time.Second
)

// next enters a failure and says how long to wait before the next attempt, or that there is none.
func (l *ledger) next(e *llm.Error, spoke bool, lim Limits, now time.Time) (wait time.Duration, again bool) {
	l.enter(spoke)
	if l.first.IsZero() {
		l.first = now
	}
	if e.Class == llm.Empty || e.Class == llm.Malformed {
		l.empty++
	}
	if !e.IsRetryable() || l.failures >= lim.Attempts || l.empty > lim.EmptyRepeats || l.spoken > lim.SpokenRepeats {
		return 0, false
	}
	wait = e.RetryAfter
	if wait <= 0 {
		wait = time.Duration(float64(backoff(l.failures)) * (0.8 + 0.4*rand.Float64()))
	}
	if now.Add(wait).Sub(l.first) > lim.RetryTime {
		return 0, false
	}
	return wait, true
}

// enter counts a failure. After an answer that broke off each further attempt counts among the few that may follow it,
// also one that failed in silence (spec/v2 §28.11).
func (l *ledger) enter(spoke bool) {
	l.failures++
	if spoke || l.spoken > 0 {
		l.spoken++
	}
}

// backoff is the wait after the n-th failure in a row.
func backoff(n int) time.Duration { return min(maxWait, firstWait<<min(n-1, 8)) }

// pauses are the waits that can be cut short. A cut is a hint: the rows say whether anybody wants to go on now.
type pauses struct {
	mu sync.Mutex // guards m
	m  map[session.ID]chan struct{}
}

// begin returns a channel on which cuts of the session's pause are heard, and what ends the pause.
func (p *pauses) begin(id session.ID) (short <-chan struct{}, end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.m == nil {
		p.m = map[session.ID]chan struct{}{}
	}
	c := make(chan struct{}, 1) // one cut is as good as many
	p.m[id] = c
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.m, id)
	}
}

// cut tells the session's pause, if it makes one.
func (p *pauses) cut(id session.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.m[id] <- struct{}{}:
	default:
	}
}

// pause records the failed attempt, shows when the next one is made, and waits for it. A steer or another choice of
// model or agent since the turn's boundary ends the wait at once (spec/v2 §28.11).
func (d *drain) pause(ctx context.Context, set *setting, e *llm.Error, wait time.Duration) error {
	short, end := d.pauses.begin(d.id)
	defer end()
	next := d.now().Add(wait).UnixMilli()
	fact := &session.Retried{Attempt: d.tries.failures, Next: next, Error: session.RetryError{
		Message: e.Error(), StatusCode: e.Status, IsRetryable: true, ResponseBody: e.Body,
	}}
	if _, err := d.log.Append(context.WithoutCancel(ctx), d.id, store.Relaxed, journal.RequireSession(d.id, fact)); err != nil {
		return err
	}
	d.statuses.set(d.Engine, d.id, Status{Type: StatusRetry, Attempt: d.tries.failures, Message: e.Message, Next: next})
	defer d.statuses.set(d.Engine, d.id, Status{Type: StatusBusy})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if hurried, err := d.hurried(ctx, set); hurried || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-short:
		case <-timer.C:
			return nil
		}
	}
}

// hurried reports whether somebody steered, or chose another model or agent, since the turn's boundary.
func (d *drain) hurried(ctx context.Context, set *setting) (hurried bool, err error) {
	err = d.store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		s, err := journal.FindSession(r, d.id)
		if err != nil {
			return err
		}
		steers, err := store.PendingInputs(r, d.id, session.Steer, 0)
		hurried = s.Agent != set.session.Agent || !sameChoice(s.Model, set.session.Model) ||
			slices.ContainsFunc(steers, func(in *session.Input) bool { return !in.Hold })
		return err
	})
	return hurried, err
}

func sameChoice(a, b *session.ModelRef) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}
