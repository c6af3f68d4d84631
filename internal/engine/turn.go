package engine

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"

	"github.com/cairn-dev/cairn/internal/engine/ask"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// takeTurn makes one provider turn: it samples the session, promotes prompts, sends the request, records the answer,
// and settles its calls. It reports whether another turn must follow. An error ends the drain; the session records why,
// unless it cannot be written, or is errSelectionChanged: then no turn was made.
func (d *drain) takeTurn(ctx context.Context, next session.Delivery) (more bool, err error) {
	v, err := d.readBoundary(ctx, next)
	if err != nil {
		return false, err
	}
	in := emptyInput(v.session)
	in.compaction = v.compaction
	loc, release, err := d.engine.locations.Scope(ctx, v.session.Location)
	if err != nil {
		return false, d.failLocation(ctx, next, in, err)
	}
	defer release()
	in.scope, in.agent = loc, loc.FindAgent(v.session.Agent)
	if in.rights, err = d.engine.Asks.CollectRules(ctx, loc, v.session, in.agent); err != nil {
		return false, d.failLocation(ctx, next, in, err)
	}
	if in.sources, err = loc.Context(ctx, scope.ContextInput{Session: v.session, Agent: in.agent}); err != nil {
		return false, d.failLocation(ctx, next, in, err)
	}
	d.summarize = loc.Summaries && in.session.ParentID == ""
	titles, sampled := d.titleModel(in), selectionOf(v.pending)
	after, err := d.crossBoundary(ctx, v, in.sources, promotion{
		mode: next, titlePrompt: titles == nil && in.session.IsUntitled(), sampled: &sampled,
	})
	if errors.Is(err, errSelectionChanged) {
		return false, err
	}
	if err == nil {
		err = d.fillInput(in, after)
	}
	if err != nil {
		return false, d.failBoundary(ctx, in, v.pending, next, err)
	}
	if titles != nil && v.firstPrompt != nil {
		d.startTitle(in, titles, v.firstPrompt)
	}
	in.model, err = loc.ResolveModel(in.session.Model, in.agent)
	if err != nil && in.compaction != nil && in.compaction.Compaction.Model != nil { // which stands in for a lost one
		in.model, err = loc.ResolveModel(in.compaction.Compaction.Model, in.agent)
	}
	if err != nil {
		return false, d.failModel(ctx, in, err)
	}
	in.model = correctWindow(in.model, in.cached.Windows[in.model.Ref])
	if stop, err := d.checkBudget(ctx, in); stop || err != nil {
		return false, err
	}
	if subtasks := session.ListUnstarted(in.history.Messages()); len(subtasks) > 0 {
		return runSubtasks(ctx, d, in, subtasks)
	}
	if needsReport(in.history) {
		return true, requestReport(ctx, d)
	}
	if in.compaction != nil {
		return d.compactOnRequest(ctx, in)
	}
	in.lastStep = in.agent.Steps > 0 && d.step >= in.agent.Steps
	if again, err := d.fitWindow(ctx, in); again || err != nil {
		return again, err
	}
	if more, err = d.runAttempt(ctx, in); more || err != nil || loc.Compaction.Prune != scope.PruneEager {
		return more, err
	}
	return false, d.hideOutputsAfterWork(ctx, in)
}

// fillInput takes what the turn needs of the session after promotion.
func (d *drain) fillInput(in *turnInput, v *boundaryView) (err error) {
	in.epoch, in.history, in.cached = v.epoch, v.history, d.engine.histories.Get(d.id)
	in.prompt = v.history.ContinuedID()
	if in.output, err = v.history.FindOutputSchema(); err != nil {
		return err
	}
	in.recovery, in.restricted = v.recovery, d.restricted
	return in.setPolicy(v.policy)
}

// maxEpochTries bounds the attempts at a boundary while other processes change the context epoch.
const maxEpochTries = 3

// crossBoundary passes the safe boundary before a request: it promotes prompts, then tells the model what changed in
// its context. It returns the session as it is afterwards.
func (d *drain) crossBoundary(
	ctx context.Context, v *boundaryView, sources systemcontext.Context, p promotion,
) (*boundaryView, error) {
	for try := 1; ; try++ {
		changed, err := d.promoteAndReconcile(ctx, v, sources, &p)
		if err != nil && (try == maxEpochTries || !errors.Is(err, projection.ErrEpoch)) {
			return nil, err
		}
		if err == nil && !changed {
			return v, nil
		}
		again := err != nil
		if v, err = d.rereadBoundary(ctx, v, p.mode); err != nil || !again {
			return v, err
		}
	}
}

// promoteAndReconcile promotes, and begins or reconciles the context epoch. It reports whether it changed anything. A
// promotion that succeeded is taken out of p.
func (d *drain) promoteAndReconcile(
	ctx context.Context, v *boundaryView, sources systemcontext.Context, p *promotion,
) (changed bool, err error) {
	p.first = nil
	if v.epoch == nil {
		if p.first, err = renderBaseline(ctx, sources); err != nil {
			return false, err
		}
	}
	if len(v.pending) > 0 || p.first != nil {
		n, err := d.promote(ctx, *p)
		if err != nil {
			return false, err
		}
		p.mode, p.sampled, changed = "", nil, true
		if n > 0 {
			d.step, d.started = 1, d.engine.journal.Now()
		}
	}
	if p.first != nil {
		return changed, nil
	}
	updated, err := d.reconcile(ctx, sources, v)
	return changed || updated, err
}

// checkBudget asks before the next turn if it would exceed the budget. It reports whether the work stops.
func (d *drain) checkBudget(ctx context.Context, in *turnInput) (stop bool, err error) {
	b := session.Budget{}
	if in.session.Budget != nil {
		b = *in.session.Budget
	}
	t := &turn{engine: d.engine, id: d.id, slot: &d.slot, in: in}
	err = d.engine.Asks.CheckBudget(ctx, t.newAsker(nil), ask.BudgetCheck{
		Budget: b, MaxTurns: d.engine.limits.Turns, Grants: &in.cached.Grants, Parent: in.session.ParentID,
		Usage: ask.BudgetUsage{
			Turns: in.history.CountTurns(), Cost: in.session.Cost, Tokens: in.session.Tokens.Sum(),
			Wall: d.engine.journal.Now().Sub(d.started), Unpriced: unpricedModel(in),
		},
	})
	if exceeded, ok := errors.AsType[*ask.BudgetError](err); ok {
		if in.compaction != nil {
			return true, d.refuseCompaction(ctx, in, exceeded)
		}
		_, err := d.recordEnding(ctx, nil, endOfHalted(session.ReasonBudget, exceeded))
		return true, err
	}
	return err != nil, err
}

// unpricedModel names the model if the cost of a request to it will not be known; "" otherwise. A vendor that reports
// charges counts as known until the session has an answer without a charge.
func unpricedModel(in *turnInput) string {
	if in.model.Unpriced && (!in.model.ReportsCharge || in.session.Tokens.Unpriced > 0) {
		return in.model.Ref.String()
	}
	return ""
}

// runAttempt sends the request once and finishes the turn. A transient failure is recorded and waited out; the retry is
// a turn of its own, so that a steer or another choice of model takes effect.
func (d *drain) runAttempt(ctx context.Context, in *turnInput) (more bool, err error) {
	ri := in.requestInput()
	if skipped := ri.SkippedHostedTools(); d.step <= 1 && len(skipped) > 0 {
		d.engine.logger.Warn("the provider accepts its hosted tools only without other tools, so they are not offered",
			"session", d.id, "model", in.model.Ref.String(), "tools", skipped)
	}
	d.retries = d.retries.ForModel(in.model.Ref)
	req := in.request.Built
	sent := sentRequest{prefix: llm.PrefixOf(req)}
	sent.record = ri.ComparePrefix(sent.prefix, in.cached.Sent)
	size := in.request.Size
	sent.record.Bytes, sent.record.Dense, sent.record.Media = size.Bytes, size.Dense, size.Media
	t := d.newTurn(in, sent)
	if err := fault.PassPoint(ctx, fault.TurnPreDispatch); err != nil {
		return false, err
	}
	err = t.streamAnswer(ctx, req)
	if t.acceptsCut(err, d.cut) {
		err = nil
	}
	d.cut = t.cutText(err)
	d.countPause(t.recorder)
	if err != nil {
		return d.handleStreamError(ctx, t, err)
	}
	if err := fault.PassPoint(ctx, fault.TurnFinish); err != nil {
		return false, err
	}
	d.retries, d.shrunk = turnlog.RetryState{}, false
	if a := t.recorder.FinalAnswer(); a != nil && in.scope.ReportUsage != nil {
		in.scope.ReportUsage(in.model.Ref, in.request.Size, a.Tokens.Input+a.Tokens.Cache.Read+a.Tokens.Cache.Write)
	}
	more, err = d.complete(ctx, t)
	d.step++
	return more, err
}

// countPause counts the answers in a row that their provider paused.
func (d *drain) countPause(r *turnlog.Recorder) {
	switch {
	case r.FinalAnswer() == nil:
	case !r.IsPaused():
		d.pauses = 0
	case r.FinalAnswer().Finish == session.FinishPaused:
		d.pauses++
	}
}

// handleStreamError ends the turn whose stream failed, and decides whether to try again.
func (d *drain) handleStreamError(ctx context.Context, t *turn, err error) (more bool, _ error) {
	clean := context.WithoutCancel(ctx)
	if !errors.Is(err, store.ErrUnavailable) {
		if err := t.recorder.CommitStarts(clean); err != nil {
			return false, err
		}
	}
	if ctx.Err() != nil {
		return d.recordEnding(ctx, t, endOfCancelled(context.Cause(ctx), t.recorder.HasMessage()))
	}
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok { // not the provider's error: another request would not help
		return d.recordEnding(ctx, t, endOfFailed(turnlog.DescribeFailure(err), err))
	}
	if refusal.Usage != nil && t.recorder.FinalAnswer() == nil {
		t.recorder.SetFinish("error", *refusal.Usage)
	}
	if !t.recorder.HasMessage() && t.recorder.FinalAnswer() == nil && !refusal.Cured {
		if x := t.in.requestInput().RejectedContent(refusal); x != nil {
			return true, d.excludeContent(clean, x, refusal)
		}
	}
	t.learnWindow(refusal)
	if !t.recorder.HasMessage() && !d.shrunk && t.isRefusedForSize(refusal, d.retries.FailureCount()) {
		d.shrunk, t.in.request.Rejected = true, true
		return d.compactAutomatically(ctx, t.in)
	}
	wait, again := d.retries.Next(refusal, d.engine.limits.retryLimits(), d.engine.journal.Now())
	if !again {
		f := turnlog.DescribeFailure(refusal)
		if refusal.Class == llm.Overflow {
			f = t.in.request.DescribeRejection(f)
		}
		return d.recordEnding(ctx, t, endOfFailed(f, refusal))
	}
	var used *session.Asked
	if t.recorder.HasMessage() {
		if _, err := d.recordEnding(ctx, t, endOfFailed(turnlog.DescribeFailure(refusal), nil)); err != nil {
			return false, err
		}
	} else if a := t.recorder.TakeAnswer(); a != nil { // it has a cost but no output
		used = &session.Asked{Model: t.in.model.Ref, Cost: a.Cost, Tokens: a.Tokens}
	}
	err = d.waitForRetry(ctx, t.in, failedAttempt{refusal, used, wait})
	if ctx.Err() != nil && !t.recorder.HasMessage() {
		return d.recordEnding(ctx, t, endOfCancelled(context.Cause(ctx), false))
	}
	return true, err
}
