package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// maxPauses is how often in a row a provider may pause its answer and continue it in another turn.
const maxPauses = 5

// complete sees a well-ended answer through: its calls become durable, run, and settle; then the turn ends. It reports
// whether the model must see results, or continue a paused answer.
func (t *turn) complete(ctx context.Context) (more bool, err error) {
	if err := t.recorder.CommitCalls(ctx); err != nil {
		return false, err
	}
	for _, c := range t.recorder.LocalCalls() {
		t.calls = append(t.calls, newCall(c))
	}
	t.message = t.recorder.MessageID()
	return t.conclude(ctx)
}

// conclude settles the calls and ends the turn as its answer says.
func (t *turn) conclude(ctx context.Context) (more bool, err error) {
	end := t.settleAll(ctx)
	clean := context.WithoutCancel(ctx)
	if end.last != nil && ctx.Err() != nil {
		end.err = t.recorder.Commit(clean, store.Durable, end.last...)
		end.last = nil
	}
	switch {
	case end.left: // asks outlive the process; the turn stays open for the next one
		return false, context.Cause(ctx)
	case end.err != nil:
		return false, firstError(t.recorder.FailTurn(clean, told(end.err)), end.err)
	case end.declined != nil:
		return false, firstError(t.recorder.FailTurn(clean, session.Fail(session.ReasonDenied, end.declined.Error())), cause.ErrDeclined)
	case ctx.Err() != nil:
		return false, firstError(t.recorder.FailTurn(clean, cut(ctx)), context.Cause(ctx))
	}
	finish := t.recorder.FinalAnswer().Finish
	d := &session.StepEnded{Finish: finish}
	more = (len(t.calls) > 0 && !t.set.final) || finish == session.FinishPaused
	if t.set.output != nil {
		v := t.set.output.JudgeAnswer(history.Output{
			Calls: outputCalls(t.calls), Texts: t.recorder.AnswerTexts(), Finish: finish, Last: t.set.final, More: more,
		})
		if v.Failure != nil {
			return false, firstError(t.recorder.Commit(clean, store.Durable, end.last...), t.recorder.FailTurn(clean, v.Failure))
		}
		d.Structured, d.Finish, more = v.Value, v.Finish, v.More
	}
	if err = t.recorder.EndTurn(clean, d, end.last...); err == nil && end.last != nil {
		err = fault.Point(clean, fault.ToolSettled)
	}
	return more, err
}
