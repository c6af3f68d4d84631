package engine

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// failedAttempt is an attempt after which another one is made.
type failedAttempt struct {
	err  *llm.Error
	used *session.RequestCost // by an attempt without a message, if known
	wait time.Duration        // before the next one
}

// waitForRetry records the failed attempt and waits for the next one.
func (d *drain) waitForRetry(ctx context.Context, input *turnInput, a failedAttempt) error {
	next := d.engine.journal.Now().Add(a.wait).UnixMilli()
	fact := &session.Retried{
		Attempt: d.retries.FailureCount(), Next: next, Request: a.used, Error: turnlog.NewRetryError(a.err),
	}
	decide := turnlog.RequireSession(d.id, fact)
	if _, err := d.engine.journal.Log.Append(context.WithoutCancel(ctx), d.id, store.Relaxed, decide); err != nil {
		return err
	}
	return d.waitUntil(ctx, input.session, Status{Message: a.err.Message, Next: next})
}

// waitUntil shows when the next attempt is made, and waits for it. Another choice of model or agent than that of s ends
// the wait at once; a steer does not: the provider asked for the wait.
func (d *drain) waitUntil(ctx context.Context, s *session.Session, status Status) error {
	engine := d.engine
	cuts, end := engine.retryWaits.Begin(d.id)
	defer end()
	status.Type, status.Attempt = StatusRetry, d.retries.FailureCount()
	engine.statuses.Set(d.id, status)
	defer engine.statuses.Set(d.id, Status{Type: StatusBusy})
	timer := time.NewTimer(time.UnixMilli(status.Next).Sub(engine.journal.Now()))
	defer timer.Stop()
	for {
		if early, err := d.isRetryDueEarly(ctx, s); early || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-cuts:
		case <-timer.C:
			return nil
		}
	}
}

// showRetry shows when the next attempt at a summary is made, until end is called.
func (e *Engine) showRetry(id session.ID, r *session.Retried) (end func()) {
	e.statuses.Set(id, Status{Type: StatusRetry, Attempt: r.Attempt, Message: r.Error.Message, Next: r.Next})
	return func() { e.statuses.Set(id, Status{Type: StatusBusy}) }
}

// isRetryDueEarly reports whether the session has another model or agent than before.
func (d *drain) isRetryDueEarly(ctx context.Context, before *session.Session) (bool, error) {
	s, err := d.engine.journal.ReadSession(context.WithoutCancel(ctx), d.id)
	return err == nil && (s.Agent != before.Agent || !isSameModel(s.Model, before.Model)), err
}

func isSameModel(a, b *session.ModelRef) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}

// excludeContent records content that is left out from now on. The next turn is tried without it at once.
func (d *drain) excludeContent(ctx context.Context, x *session.Exclusion, e *llm.Error) error {
	content := "the " + string(x.Kind) + " of the conversation so far"
	if x.Digest != "" {
		content = "the one of the " + string(x.Kind) + " that it names"
	}
	d.engine.logger.Warn("the provider rejects a part of the conversation; further requests leave it out",
		"session", d.id, "kind", x.Kind, "error", e)
	fact := &session.Retried{Attempt: d.retries.FailureCount() + 1, Exclude: x, Error: turnlog.NewRetryError(e)}
	fact.Error.Message += "; further requests leave out " + content
	return d.engine.journal.AppendFacts(ctx, d.id, fact)
}
