package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
)

// complete finishes a turn whose answer ended well: its calls become durable, run, and settle; then the turn ends. It
// reports whether the model must see results, or continue a paused answer.
func (d *drain) complete(ctx context.Context, t *turn) (more bool, err error) {
	if err := t.showCalls(ctx, t.recorder.LocalCalls()); err != nil {
		return d.handleStreamError(ctx, t, err)
	}
	if err := t.recorder.CommitCalls(ctx); err != nil {
		return false, err
	}
	return d.settleTurn(ctx, t, t.recorder.LocalCalls())
}

// settleTurn settles the calls, which are durable, and ends the turn.
func (d *drain) settleTurn(ctx context.Context, t *turn, calls []*turnlog.Call) (more bool, err error) {
	for _, c := range calls {
		t.calls = append(t.calls, &toolCall{call: c})
	}
	// Count the answer for budgets before the calls, which may begin subagents on the same budget.
	d.engine.Asks.RecordAnswer(t.input.session, d.started, t.recorder.FinalAnswer())
	o := t.settleCalls(ctx)
	// Decide how the turn ends.
	out := history.Output{
		Texts: t.recorder.AnswerTexts(), Finish: t.recorder.FinalAnswer().Finish, Last: t.input.lastStep,
	}
	for _, c := range t.calls {
		out.Calls = append(out.Calls, c.outputCall())
	}
	out.More = (len(t.calls) > 0 && !t.input.lastStep) || out.Finish == session.FinishPaused
	e := endOfCompleted(o, out, t.input.output, context.Cause(ctx))
	// Record the end with the files that the turn changed, and show clients the new sum of changes.
	if e.step != nil {
		t.changes.FillEnd(ctx, e.step)
	}
	more, err = d.recordEnding(ctx, t, e)
	t.changes.UpdateDiff(ctx)
	if err == nil && e.state == completed && len(e.settled) > 0 {
		err = fault.PassPoint(context.WithoutCancel(ctx), fault.ToolSettled)
	}
	return more, err
}
