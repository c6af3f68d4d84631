package engine

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// failed records how the stream went wrong and decides whether to try again.
func (d *drain) failed(ctx context.Context, t *turn, err error) (more bool, _ error) {
	clean := context.WithoutCancel(ctx)
	if !errors.Is(err, store.ErrUnavailable) {
		if err := t.recorder.CommitStarts(clean); err != nil {
			return false, err
		}
	}
	if ctx.Err() != nil {
		return false, d.stopped(ctx, t)
	}
	failure, providers := errors.AsType[*llm.Error](err)
	if !providers { // not the provider's: asking it again would not help
		return false, firstError(d.failUnstartedTurn(clean, t, told(err)), err)
	}
	if failure.Usage != nil && t.recorder.FinalAnswer() == nil {
		t.recorder.SetFinish("error", *failure.Usage)
	}
	if !t.recorder.HasMessage() && t.recorder.FinalAnswer() == nil {
		if out := t.set.input().RejectedContent(failure); out != nil {
			return true, d.exclude(clean, out, failure)
		}
	}
	wait, again := d.tries.next(failure, t.recorder.HasMessage(), d.limits, d.now())
	if !again {
		return false, firstError(d.failUnstartedTurn(clean, t, told(failure)), failure)
	}
	if t.recorder.HasMessage() || t.recorder.FinalAnswer() != nil { // it said something, or cost something
		if err := d.failUnstartedTurn(clean, t, told(failure)); err != nil {
			return false, err
		}
	}
	err = d.pause(ctx, t.set, failure, wait)
	if ctx.Err() != nil && !t.recorder.HasMessage() {
		return false, d.stopped(ctx, t)
	}
	return true, err
}

// stopped ends a turn that our own cancellation ended. Where the model had said nothing yet there is a message only if it was
// the user who stopped it, so that the prompt has its answer; what a restart will ask again has none.
func (d *drain) stopped(ctx context.Context, t *turn) error {
	stop, clean := context.Cause(ctx), context.WithoutCancel(ctx)
	if !t.recorder.HasMessage() && !errors.Is(stop, cause.ErrInterrupted) {
		return stop
	}
	return firstError(d.failUnstartedTurn(clean, t, cut(ctx)), stop)
}

// failUnstartedTurn ends the turn as failed, beginning its message first if the model never did.
func (d *drain) failUnstartedTurn(ctx context.Context, t *turn, f *session.Failure) error {
	if err := t.recorder.StartMessage(ctx); err != nil {
		return err
	}
	return t.recorder.FailTurn(ctx, f)
}

// failUnstarted ends a turn that could not be asked for at all, so that its prompt has an answer.
func (d *drain) failUnstarted(ctx context.Context, set *setting, f *session.Failure, cause error) error {
	if set.model == nil {
		ref := session.ModelRef{ID: "unknown", ProviderID: "unknown"}
		switch {
		case set.session.Model != nil:
			ref = *set.session.Model
		case set.agent.Model != nil:
			ref = *set.agent.Model
		case set.scope.Models != nil:
			if chosen, err := set.scope.Models.Default(); err == nil {
				ref = chosen
			}
		}
		set.model = &location.Model{Ref: ref}
	}
	clean := context.WithoutCancel(ctx)
	var err error
	if set.prompt, err = d.newestPrompt(clean); err != nil {
		return err
	}
	return firstError(d.failUnstartedTurn(clean, newTurn(d, set, llm.Prefix{}, nil), f), cause)
}

// unready ends a turn whose boundary failed. What cannot be repaired by trying again is an answer to the prompts.
func (d *drain) unready(ctx context.Context, promotion session.Delivery, s *session.Session, err error) error {
	if b, ok := errors.AsType[*errBlocked](err); ok {
		return d.halt(ctx, session.ReasonUnavailable, b)
	}
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, fault.ErrInjected) {
		return err
	}
	return d.stuck(ctx, promotion, s, err)
}

// stuck answers the eligible prompts with what keeps the location from working, e.g. a broken configuration.
func (d *drain) stuck(ctx context.Context, promotion session.Delivery, s *session.Session, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := d.promote(ctx, promotion, nil); err != nil {
		return err
	}
	set := &setting{session: s, scope: &location.Scope{}, agent: session.Agent{ID: s.Agent}}
	return d.failUnstarted(ctx, set, told(cause), cause)
}

// halt records that work stops between turns although it is not done, and why.
func (d *drain) halt(ctx context.Context, reason session.Reason, cause error) error {
	fact := &session.Interrupted{Error: *session.Fail(reason, cause.Error())}
	return firstError(d.fact(context.WithoutCancel(ctx), d.id, fact), cause)
}

// cut is the failure of a turn that our own cancellation ended.
func cut(ctx context.Context) *session.Failure {
	if errors.Is(context.Cause(ctx), cause.ErrShutdown) {
		return session.Fail(session.ReasonInterrupted, "cairn stopped while the model was answering")
	}
	return session.Fail(session.ReasonAborted, "Provider turn interrupted")
}

// exclude records what is left out from now on. The next turn is tried without it at once.
func (d *drain) exclude(ctx context.Context, out *session.Exclusion, e *llm.Error) error {
	left := "the " + string(out.Kind) + " of the conversation so far"
	if out.Digest != "" {
		left = "the one of the " + string(out.Kind) + " that it names"
	}
	d.logger.Warn("the provider refuses a part of the conversation, which is left out from now on", "session", d.id, "kind", out.Kind, "error", e)
	fact := &session.Retried{Attempt: d.tries.failures + 1, Exclude: out, Error: session.RetryError{
		Message:    e.Error() + "; from now on it is asked without " + left,
		StatusCode: e.Status, IsRetryable: true, ResponseBody: e.Body,
	}}
	_, err := d.append(ctx, d.id, store.Durable, eventlog.Draft{Data: fact})
	return err
}
