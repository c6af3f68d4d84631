package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/engine/record"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
)

// setting is what one turn sampled at its boundary. Later switches change the next turn only (seed 004).
type setting struct {
	session *session.Session
	scope   *location.Scope
	agent   session.Agent
	rights  []permission.Layer // the rules that hold for it here
	model   *location.Model
	epoch   *store.Epoch
	history *history.History
	cached  *cachedSession
	prompt  session.MessageID     // the newest one: what the turn answers
	policy  ask.Policy            // of the prompt
	final   bool                  // the last turn of the agent's allowance: text only
	output  *history.OutputSchema // nil without structured output
	offered *tool.Set             // what the request shows; calls are settled with the same
}

// tools returns the tools that the request offers; calls are settled with the same snapshot.
func (set *setting) tools() *tool.Set {
	if set.offered == nil {
		set.offered = history.OfferTools(set.scope.Tools, set.model, set.rights)
	}
	return set.offered
}

// since returns where the visible history begins, 0 for calls that are taken up after a restart without an epoch.
func (set *setting) since() int64 {
	if set.epoch == nil {
		return 0
	}
	return set.epoch.BaselineSeq
}

// input returns what the request is built from.
func (set *setting) input() *history.Input {
	return &history.Input{
		Session: set.session, Agent: set.agent, Rights: set.rights, Model: set.model, Tools: set.tools(),
		Baseline: set.epoch.Baseline, BaselineSeq: set.epoch.BaselineSeq, History: set.history, Output: set.output,
		Last: set.final,
	}
}

// turn makes one provider turn: promote, look around, ask the model, record what it says, settle what it calls. It
// reports whether another turn must follow. An error ends the drain; the session says why,
// unless it cannot be written.
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
	set := &setting{session: s, scope: scope, agent: scope.FindAgent(s.Agent)}
	if set.rights, err = d.Asks.CollectRules(ctx, scope, s, set.agent); err != nil {
		return false, d.stuck(ctx, promotion, s, err)
	}
	sources, err := scope.Context(ctx, set.agent)
	if err != nil {
		return false, d.stuck(ctx, promotion, s, err)
	}
	if d.titler = d.titlerOf(set); d.titler != nil {
		d.entitle(ctx, set, promotion)
	}
	if err := d.boundary(ctx, set, sources, promotion); err != nil {
		return false, d.unready(ctx, promotion, s, err)
	}
	if set.model, err = scope.ResolveModel(s.Model, set.agent); err != nil {
		why := told(err)
		if why.Reason == session.ReasonUnavailable {
			why.Reason = session.ReasonModel
		}
		return false, d.failUnstarted(ctx, set, why, err)
	}
	if stop, err := d.checkBudget(ctx, set); stop || err != nil {
		return false, err
	}
	set.final = set.agent.Steps > 0 && d.step >= set.agent.Steps
	if left := set.input().SkippedHostedTools(); d.step <= 1 && len(left) > 0 {
		d.logger.Warn("the model takes its vendor's own tools only without others, so they are left out", "session", d.id, "model", set.model.Ref.String(), "tools", left)
	}
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
	set.cached = d.histories.Get(d.id)
	if set.output, err = set.history.FindOutputSchema(); err != nil {
		return err
	}
	if set.prompt, err = d.newestPrompt(ctx); err != nil {
		return err
	}
	set.policy, err = d.readPolicy(ctx, set.history)
	return err
}

// readPolicy returns the ask policy of the newest promoted prompt.
func (d *drain) readPolicy(ctx context.Context, h *history.History) (p ask.Policy, err error) {
	for i := len(h.Messages()) - 1; i >= 0; i-- {
		u, ok := h.Messages()[i].(*session.User)
		if !ok {
			continue
		}
		err = d.store.View(ctx, func(r store.Reader) error {
			in, ok, err := store.FindInput(r, u.ID)
			if err != nil || !ok {
				return err
			}
			p, err = ask.ParsePolicy(in.Asks)
			return err
		})
		return p, err
	}
	return p, nil
}

// attempt sends the request once and sees it through. A failure that may pass is recorded, waited out, and reported as
// "another turn must follow": the retry is a turn of its own, so that a switch of model or a steer takes effect.
func (d *drain) attempt(ctx context.Context, set *setting) (more bool, err error) {
	d.tries = d.tries.of(set.model.Ref)
	in := set.input()
	req := history.BuildRequest(in)
	sent := llm.PrefixOf(req)
	t := newTurn(d, set, sent, in.ComparePrefix(sent, set.cached.sent))
	if err := fault.Point(ctx, fault.TurnPreDispatch); err != nil {
		return false, err
	}
	err = t.stream(ctx, req)
	d.countPause(t.recorder)
	if err != nil {
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

// countPause counts the answers in a row that their provider paused.
func (d *drain) countPause(r *record.Recorder) {
	switch {
	case r.FinalAnswer() == nil:
	case !r.IsPaused():
		d.unfinished = 0
	case r.FinalAnswer().Finish == session.FinishPaused:
		d.unfinished++
	}
}
