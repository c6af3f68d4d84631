package engine

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// fitWindow builds the turn's request. If that would not fit the model's window, it hides old outputs, else it replaces
// the past by a summary, and reports that the boundary must be taken again. A request that cannot be made to fit ends
// the turn with an error.
func (d *drain) fitWindow(ctx context.Context, input *turnInput) (again bool, err error) {
	input.buildRequest()
	if input.request.HidesOutputs(input.requestInput()) {
		if again, err := d.engine.shrinker.HideOutputs(ctx, input.request); again || err != nil {
			return again, err
		}
	}
	if !input.request.NeedsCompaction() {
		return false, nil
	}
	return d.compactAutomatically(ctx, input)
}

// isRefusedForSize reports whether a summary is worth an attempt after the refusal: its provider says that the request
// is too large, or says nothing known about a request that nearly fills the window. An internal failure counts from the
// second one on: the first may pass. failures are those of the turn so far.
func (t *turn) isRefusedForSize(e *llm.Error, failures int) bool {
	isFinal := e.Class == llm.InvalidRequest || e.Class == llm.Unknown
	isRepeated := e.Class == llm.Overloaded && (e.Status == 0 || e.Status == 500) && failures > 0
	return t.input.scope.Compaction.Auto &&
		(e.Class == llm.Overflow || e.ByStatus && (isFinal || isRepeated) && t.input.request.NearlyFillsWindow())
}

// learnWindow keeps the context window that the refusal names, for this session and model, if it is smaller than the
// known one. The size that it names of the request corrects later estimates.
func (t *turn) learnWindow(e *llm.Error) {
	m := t.input.model
	if e.Requested > 0 && t.input.scope.ReportUsage != nil {
		t.input.scope.ReportUsage(m.Ref, t.input.request.Size, e.Requested)
	}
	if known := m.Window.InputLimit(); e.Window == 0 || known > 0 && e.Window >= known {
		return
	}
	t.engine.logger.Warn("the provider names a smaller context window than the known one",
		"session", t.id, "model", m.Ref.String(), "window", e.Window)
	if t.input.cached.Windows == nil {
		t.input.cached.Windows = map[session.ModelRef]int64{}
	}
	t.input.cached.Windows[m.Ref] = e.Window
	t.input.model = correctWindow(m, e.Window)
	t.input.request.Model = t.input.model
}

// correctWindow returns the model with the window that its provider named in tokens, 0 if it named none.
func correctWindow(m *scope.Model, tokens int64) *scope.Model {
	if tokens == 0 {
		return m
	}
	corrected := *m
	corrected.Window.Context = tokens
	if corrected.Window.Input > 0 {
		corrected.Window.Input = tokens
	}
	return &corrected
}

// compactAutomatically replaces the past by a summary because the next request does not fit. If that is not possible,
// the turn ends with the reason.
func (d *drain) compactAutomatically(ctx context.Context, input *turnInput) (again bool, err error) {
	if err := input.request.CheckCompaction(); err != nil {
		f := session.Fail(session.ReasonOverflow, err.Error())
		return false, d.failWithoutRequest(ctx, input, endOfFailed(f, err))
	}
	end, err := d.engine.shrinker.Compact(ctx, input.request, compaction.Cause{Extensions: input.extensions})
	d.notifyCompacted(input, end, extension.CauseAuto)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return false, d.failWithoutRequest(ctx, input, endOfFailed(d.engine.shrinker.DescribeFailure(err), err))
	case input.scope.Compaction.Stop, end != nil && len(end.StoppedBy) > 0:
		return false, compaction.ErrStopped
	}
	return true, nil
}

// hideOutputsAfterWork hides old outputs although the next request might have found the others in the provider's cache.
func (d *drain) hideOutputsAfterWork(ctx context.Context, input *turnInput) (err error) {
	if input.request.History, err = d.readHistory(ctx); err == nil {
		_, err = d.engine.shrinker.HideOutputs(ctx, input.request)
	}
	return err
}

// compactOnRequest carries out the request for a compaction that is the next entry of the inbox. It reports whether the
// work before it goes on.
func (d *drain) compactOnRequest(ctx context.Context, input *turnInput) (more bool, err error) {
	input.buildRequest()
	more = input.history.NeedsTurn()
	end, err := d.engine.shrinker.Compact(ctx, input.request, compaction.Cause{
		Request: input.compaction, Extensions: input.extensions,
	})
	d.notifyCompacted(input, end, extension.CauseManual)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, fault.ErrInjected):
		return false, err
	case err == nil && end == nil: // nothing to summarise
		return more, d.engine.journal.AppendFacts(ctx, d.id, &session.InputWithdrawn{MessageID: input.compaction.ID})
	}
	return more || err == nil && end.Continue, nil // the session has the reason of a failure
}
