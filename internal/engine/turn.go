package engine

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
)

// setting is what one turn sampled at its boundary. Later switches change the next turn only (seed 004).
type setting struct {
	session *session.Session
	scope   *Scope
	agent   session.Agent
	model   *Model
	epoch   *store.Epoch
	history *history
	asks    askPolicy
	final   bool      // the last turn of the agent's allowance: text only
	offered *tool.Set // what the request shows; calls are settled with the same
}

// turn makes one provider turn: promote, look around, ask the model, record what it says, settle what it calls. It
// reports whether another turn must follow. An error ends the drain; it is recorded in the session already.
func (d *drain) turn(ctx context.Context, promotion session.Delivery) (more bool, err error) {
	s, err := d.session(ctx, d.id)
	if err != nil {
		return false, err
	}
	scope, release, err := d.locations.Scope(ctx, s.Location)
	if err != nil {
		return false, d.stuck(ctx, promotion, s, err)
	}
	defer release()
	set := &setting{session: s, scope: scope, agent: scope.agent(s.Agent)}
	sources, err := scope.Context(ctx, set.agent)
	if err != nil {
		return false, d.stuck(ctx, promotion, s, err)
	}
	if err := d.boundary(ctx, set, sources, promotion); err != nil {
		return false, d.unready(ctx, promotion, s, err)
	}
	if set.model, err = scope.model(s.Model, set.agent); err != nil {
		why := told(err)
		if why.Reason == session.ReasonUnavailable {
			why.Reason = session.ReasonModel
		}
		return false, d.failUnstarted(ctx, set, why, err)
	}
	if stop, err := d.guardBudget(ctx, set); stop || err != nil {
		return false, err
	}
	set.final = set.agent.Steps > 0 && d.step >= set.agent.Steps
	return d.attempt(ctx, set)
}

// boundary is the safe boundary before a request: promotion, then the news of the surroundings, then the history.
func (d *drain) boundary(ctx context.Context, set *setting, sources systemcontext.Context, promotion session.Delivery) error {
	err := retryEpoch(func() error {
		first, cur, err := d.firstEpoch(ctx, sources)
		if err != nil {
			return err
		}
		if promotion != "" || first != nil {
			n, err := d.promote(ctx, promotion, first)
			if err != nil {
				return err
			}
			promotion = "" // once, however often the rest is tried
			if n > 0 {
				d.step, d.tries, d.started = 1, ledger{}, d.now()
			}
		}
		if first != nil {
			return nil
		}
		return d.reconcile(ctx, sources, cur)
	})
	if err != nil {
		return err
	}
	if set.epoch, err = d.epoch(ctx); err != nil {
		return err
	}
	if set.history, err = d.history(ctx); err != nil {
		return err
	}
	set.asks, err = d.policy(ctx, set.history)
	return err
}

// policy is the ask policy of the newest promoted prompt.
func (d *drain) policy(ctx context.Context, h *history) (p askPolicy, err error) {
	for i := len(h.messages) - 1; i >= 0; i-- {
		u, ok := h.messages[i].(*session.User)
		if !ok {
			continue
		}
		err = d.store.View(ctx, func(r store.Reader) error {
			in, ok, err := r.Input(u.ID)
			if err != nil || !ok {
				return err
			}
			p, err = parseAskPolicy(in.Asks)
			return err
		})
		return p, err
	}
	return p, nil
}

// attempt sends the request once and sees it through. A failure that may pass is recorded, waited out, and reported as
// "another turn must follow": the retry is a turn of its own, so that a switch of model or a steer takes effect.
func (d *drain) attempt(ctx context.Context, set *setting) (more bool, err error) {
	req := request(set)
	t := newTurn(d, set)
	if err := fault.Point(ctx, fault.TurnPreDispatch); err != nil {
		return false, err
	}
	if err := t.stream(ctx, req); err != nil {
		return d.failed(ctx, t, err)
	}
	if err := fault.Point(ctx, fault.TurnFinish); err != nil {
		return false, err
	}
	d.tries = ledger{}
	more, err = t.complete(ctx)
	d.step++
	return more, err
}

// failed records how the stream went wrong and decides whether to try again.
func (d *drain) failed(ctx context.Context, t *turn, err error) (more bool, _ error) {
	clean := context.WithoutCancel(ctx)
	if !errors.Is(err, store.ErrUnavailable) && t.unseen() { // what it began to call is part of what happened
		if err := t.commit(clean, store.Relaxed); err != nil {
			return false, err
		}
	}
	if ctx.Err() != nil {
		if t.message == "" {
			return false, context.Cause(ctx)
		}
		return false, firstError(t.fail(clean, cut(ctx)), context.Cause(ctx))
	}
	failure, providers := errors.AsType[*llm.Error](err)
	if !providers { // not the provider's: asking it again would not help
		return false, firstError(d.failUnstartedTurn(clean, t, told(err)), err)
	}
	if failure.Usage != nil && t.answer == nil {
		t.answered("error", *failure.Usage)
	}
	wait, again := d.tries.next(failure, t.message != "", d.limits, d.now())
	if !again {
		return false, firstError(d.failUnstartedTurn(clean, t, told(failure)), failure)
	}
	if t.message != "" || t.answer != nil { // it said something, or cost something
		if err := d.failUnstartedTurn(clean, t, told(failure)); err != nil {
			return false, err
		}
	}
	return true, d.pause(ctx, failure, wait)
}

// failUnstartedTurn ends the turn as failed, beginning its message first if the model never did.
func (d *drain) failUnstartedTurn(ctx context.Context, t *turn, f *session.Failure) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	return t.fail(ctx, f)
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
		set.model = &Model{Ref: ref}
	}
	clean := context.WithoutCancel(ctx)
	return firstError(d.failUnstartedTurn(clean, newTurn(d, set), f), cause)
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
	set := &setting{session: s, scope: &Scope{}, agent: session.Agent{ID: s.Agent}}
	return d.failUnstarted(ctx, set, told(cause), cause)
}

// halt records that work stops between turns although it is not done, and why.
func (d *drain) halt(ctx context.Context, reason session.Reason, cause error) error {
	fact := &session.Interrupted{Error: *session.Fail(reason, cause.Error())}
	return firstError(d.fact(context.WithoutCancel(ctx), d.id, fact), cause)
}

// cut is the failure of a turn that our own cancellation ended.
func cut(ctx context.Context) *session.Failure {
	if errors.Is(context.Cause(ctx), ErrShutdown) {
		return session.Fail(session.ReasonInterrupted, "cairn stopped while the model was answering")
	}
	return session.Fail(session.ReasonAborted, "Provider turn interrupted")
}
