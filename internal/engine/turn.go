package engine

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
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
//
// The order is the contract. Everything that the turn uses is sampled before anything is promoted, so that a broken
// location or context promotes nothing that it could not answer. What replaces the request comes before it, the
// cheapest refusal first: the budget, subtasks, a report on them, a compaction, a request that does not fit. After each
// of these the boundary is taken again.
func (d *drain) takeTurn(ctx context.Context, next session.Delivery) (more bool, err error) {
	// Sample the session, and what its location offers.
	now, err := d.readBoundary(ctx, next)
	if err != nil {
		return false, err
	}
	input, release, err := d.engine.sampleLocation(ctx, now)
	defer release()
	if err != nil {
		return false, d.failLocation(ctx, next, input, err)
	}
	if input.moved { // the turn is that of the new place, with a context of its own
		if err := d.engine.Commands.FollowProject(ctx, now.session, input.scope); err != nil {
			return false, err
		}
		return false, errSelectionChanged
	}
	d.extensions, d.answered = input.extensions, false
	d.notifyUsed(input)
	// Promote the prompts and tell the model what changed in its context; now is then the session as it is after that.
	d.summarize = input.scope.Summaries && input.session.ParentID == ""
	titles := d.titleModel(input)
	ctx = d.observeWork(ctx, now, input)
	isResumed := len(now.pending) == 0 && now.compaction == nil
	err = d.crossBoundary(ctx, now, input.sources, d.newPromotion(now, next, titles))
	if errors.Is(err, errSelectionChanged) {
		return false, err
	}
	if err == nil {
		err = input.takeBoundary(now, d.engine.histories.Get(d.id), d.restricted)
	}
	if err != nil {
		return false, d.failBoundary(ctx, input, now.pending, next, err)
	}
	if titles != nil && now.firstPrompt != nil {
		d.startTitle(input, titles, now.firstPrompt)
	}
	if err = input.resolveModel(); err == nil && isResumed {
		err = input.checkResumedModel()
	}
	if err != nil {
		return false, d.failModel(ctx, input, err)
	}
	// Do what comes before a request.
	if stop, err := d.checkBudget(ctx, input); stop || err != nil {
		return false, err
	}
	if subtasks := session.ListUnstarted(input.history.Messages()); len(subtasks) > 0 {
		return runSubtasks(ctx, d, input, subtasks)
	}
	if needsReport(input.history) {
		return true, requestReport(ctx, d)
	}
	if input.compaction != nil {
		return d.compactOnRequest(ctx, input)
	}
	// Build the request, make it fit, and send it.
	input.lastStep = input.isLastStep(d.step)
	input.showDefinitions(ctx)
	input.showMessages(ctx)
	if again, err := d.fitWindow(ctx, input); again || err != nil {
		return again, err
	}
	if more, err = d.runAttempt(ctx, input); more || err != nil || input.scope.Compaction.Prune != scope.PruneEager {
		return more, err
	}
	return false, d.hideOutputsAfterWork(ctx, input)
}

// newPromotion returns the promotion of the pending prompts. A session without a model for titles gets its title from
// them.
func (d *drain) newPromotion(now *boundary, next session.Delivery, titles *scope.Model) promotion {
	sampled := selectionOf(now.pending)
	return promotion{next: next, titlePrompt: titles == nil && now.session.IsUntitled(), sampled: &sampled}
}

// maxEpochTries bounds the attempts at a boundary while other processes change the context epoch.
const maxEpochTries = 3

// crossBoundary passes the safe boundary before a request: it promotes prompts, then tells the model what changed in
// its context. It brings now up to date.
func (d *drain) crossBoundary(
	ctx context.Context, now *boundary, sources systemcontext.Context, p promotion,
) error {
	for try := 1; ; try++ {
		changed, err := d.promoteAndReconcile(ctx, now, sources, &p)
		if err != nil && (try == maxEpochTries || !errors.Is(err, projection.ErrEpoch)) {
			return err
		}
		if err == nil && !changed {
			return nil
		}
		again := err != nil
		if err = d.refreshBoundary(ctx, now, p.next); err != nil || !again {
			return err
		}
	}
}

// promoteAndReconcile promotes, and begins or reconciles the context epoch. It reports whether it changed anything. A
// promotion that succeeded is taken out of p.
func (d *drain) promoteAndReconcile(
	ctx context.Context, now *boundary, sources systemcontext.Context, p *promotion,
) (changed bool, err error) {
	p.first = nil
	// A session without an epoch begins one together with the first promotion.
	if now.epoch == nil {
		if p.first, err = renderBaseline(ctx, sources); err != nil {
			return false, err
		}
	}
	// New input starts the steps and the clock of the work over.
	if len(now.pending) > 0 || p.first != nil {
		n, err := d.promote(ctx, *p)
		if err != nil {
			return false, err
		}
		p.next, p.sampled, changed = "", nil, true
		if n > 0 {
			d.step, d.started, d.continued = 1, d.engine.journal.Now(), 0
		}
	}
	if p.first != nil {
		return changed, nil
	}
	// An epoch that has just begun cannot have changed; an older one is compared.
	updated, err := d.reconcile(ctx, sources, now)
	return changed || updated, err
}

// checkBudget asks before the next turn if it would exceed the budget. It reports whether the work stops.
func (d *drain) checkBudget(ctx context.Context, input *turnInput) (stop bool, err error) {
	b := session.Budget{}
	if input.session.Budget != nil {
		b = *input.session.Budget
	}
	// Ask in the name of a turn that has not begun, with what the session and its work have used.
	t := &turn{engine: d.engine, id: d.id, slot: &d.slot, input: input}
	err = d.engine.Asks.CheckBudget(ctx, t.newAsker(nil), ask.BudgetCheck{
		Budget: b, MaxTurns: d.engine.limits.Turns, Grants: &input.cached.Grants, Parent: input.session.ParentID,
		Usage: ask.BudgetUsage{
			Turns: input.history.CountTurns(), Cost: input.session.Cost, Tokens: input.session.Tokens.Sum(),
			Wall: d.engine.journal.Now().Sub(d.started), Unpriced: unpricedModel(input),
		},
	})
	// A refusal ends the work between two turns, or the request for a compaction.
	if exceeded, ok := errors.AsType[*ask.BudgetError](err); ok {
		if input.compaction != nil {
			return true, d.refuseCompaction(ctx, input, exceeded)
		}
		_, err := d.recordEnding(ctx, nil, endOfHalted(session.ReasonBudget, exceeded))
		return true, err
	}
	return err != nil, err
}

// unpricedModel names the model if the cost of a request to it will not be known; "" otherwise. A vendor that reports
// charges counts as known until the session has an answer without a charge.
func unpricedModel(input *turnInput) string {
	if input.model.Unpriced && (!input.model.ReportsCharge || input.session.Tokens.Unpriced > 0) {
		return input.model.Ref.String()
	}
	return ""
}

// runAttempt sends the request once and finishes the turn. A transient failure is recorded and waited out; the retry is
// a turn of its own, so that a steer or another choice of model takes effect.
func (d *drain) runAttempt(ctx context.Context, input *turnInput) (more bool, err error) {
	if skipped := input.requestInput().SkippedHostedTools(); d.step <= 1 && len(skipped) > 0 {
		d.engine.logger.Warn("the provider accepts its hosted tools only without other tools, so they are not offered",
			"session", d.id, "model", input.model.Ref.String(), "tools", skipped)
	}
	// Another model starts with all its attempts.
	d.retries = d.retries.ForModel(input.model.Ref)
	altered := input.showOptions(ctx)
	sent := input.describeRequest()
	sent.altered = altered
	t := d.newTurn(input, sent)
	if err := fault.PassPoint(ctx, fault.TurnPreDispatch); err != nil {
		return false, err
	}
	// Stream the answer. A cut that repeats the text of the last cut is accepted: another try would repeat it again.
	err = t.streamAnswer(ctx, input.request.Built)
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
	// The turn has its answer: attempts start over, and the usage corrects later estimates.
	d.retries, d.shrunk = turnlog.RetryState{}, false
	if a := t.recorder.FinalAnswer(); a != nil && input.scope.ReportUsage != nil {
		input.scope.ReportUsage(input.model.Ref, input.request.Size, a.Tokens.Input+a.Tokens.Cache.Read+a.Tokens.Cache.Write)
	}
	more, err = d.complete(ctx, t)
	d.answered = err == nil && !more
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
	// Commit what has begun, so that clients see it end.
	clean := context.WithoutCancel(ctx)
	if !errors.Is(err, store.ErrUnavailable) {
		if err := t.recorder.CommitStarts(clean); err != nil {
			return false, err
		}
	}
	// Stopped, or an error that is not the provider's: the turn ends.
	if ctx.Err() != nil {
		return d.recordEnding(ctx, t, endOfCancelled(context.Cause(ctx), t.recorder.HasMessage()))
	}
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok { // not the provider's error: another request would not help
		return d.recordEnding(ctx, t, endOfFailed(turnlog.DescribeFailure(err), err))
	}
	// The provider refused. What it charged is kept.
	if refusal.Usage != nil && t.recorder.FinalAnswer() == nil {
		t.recorder.SetFinish("error", *refusal.Usage)
	}
	// Send a smaller or another request: without the rejected content, or with the past summarised.
	if !t.recorder.HasMessage() && t.recorder.FinalAnswer() == nil && !refusal.Cured {
		if x := t.input.requestInput().RejectedContent(refusal); x != nil {
			return true, d.excludeContent(clean, x, refusal)
		}
	}
	t.learnWindow(refusal)
	if !t.recorder.HasMessage() && !d.shrunk && t.isRefusedForSize(refusal, d.retries.FailureCount()) {
		d.shrunk, t.input.request.Rejected = true, true
		return d.compactAutomatically(ctx, t.input)
	}
	// Else try the same again after a wait, within the limits.
	wait, again := d.retries.Next(refusal, d.engine.limits.retryLimits(), d.engine.journal.Now())
	if !again {
		f := turnlog.DescribeFailure(refusal)
		if refusal.Class == llm.Overflow {
			f = t.input.request.DescribeRejection(f)
		}
		return d.recordEnding(ctx, t, endOfFailed(f, refusal))
	}
	// The failed attempt ends its turn if that has begun; the retry is the next one.
	var used *session.RequestCost
	if t.recorder.HasMessage() {
		if _, err := d.recordEnding(ctx, t, endOfFailed(turnlog.DescribeFailure(refusal), nil)); err != nil {
			return false, err
		}
	} else if a := t.recorder.TakeAnswer(); a != nil { // it has a cost but no output
		used = &session.RequestCost{Model: t.input.model.Ref, Cost: a.Cost, Tokens: a.Tokens}
	}
	err = d.waitForRetry(ctx, t.input, failedAttempt{refusal, used, wait})
	if ctx.Err() != nil && !t.recorder.HasMessage() {
		return d.recordEnding(ctx, t, endOfCancelled(context.Cause(ctx), false))
	}
	return true, err
}
