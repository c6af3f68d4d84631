package engine

import (
	"context"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// waitForRetry records the failed attempt, shows when the next one is made, and waits for it. A steer, or another
// choice of model or agent since the turn's boundary, ends the wait at once.
func (d *drain) waitForRetry(ctx context.Context, in *turnInput, e *llm.Error, wait time.Duration) error {
	engine := d.engine
	cuts, end := engine.retryWaits.Begin(d.id)
	defer end()
	next := engine.journal.Now().Add(wait).UnixMilli()
	fact := &session.Retried{Attempt: d.retries.Failures(), Next: next, Error: session.RetryError{
		Message: e.Error(), StatusCode: e.Status, IsRetryable: true, ResponseBody: e.Body,
	}}
	decide := journal.RequireSession(d.id, fact)
	if _, err := engine.journal.Log.Append(context.WithoutCancel(ctx), d.id, store.Relaxed, decide); err != nil {
		return err
	}
	engine.statuses.Set(d.id, Status{
		Type: StatusRetry, Attempt: d.retries.Failures(), Message: e.Message, Next: next,
	})
	defer engine.statuses.Set(d.id, Status{Type: StatusBusy})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if early, err := d.isRetryDueEarly(ctx, in); early || err != nil {
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

// isRetryDueEarly reports whether a steer waits, or another model or agent was chosen, since the turn's boundary.
func (d *drain) isRetryDueEarly(ctx context.Context, in *turnInput) (early bool, err error) {
	err = d.engine.journal.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		s, err := store.FindSession(r, d.id)
		if err != nil {
			return err
		}
		steers, err := store.PendingInputs(r, d.id, session.Steer, 0)
		early = s.Agent != in.session.Agent || !isSameModel(s.Model, in.session.Model) ||
			slices.ContainsFunc(steers, (*session.Input).StartsWork)
		return err
	})
	return early, err
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
	fact := &session.Retried{Attempt: d.retries.Failures() + 1, Exclude: x, Error: session.RetryError{
		Message:    e.Error() + "; further requests leave out " + content,
		StatusCode: e.Status, IsRetryable: true, ResponseBody: e.Body,
	}}
	return d.engine.journal.AppendFacts(ctx, d.id, fact)
}
