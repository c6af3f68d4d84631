package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// How work ends is decided by the functions of this file and recorded by recordEnding, and nowhere else:
//
//	the stream ended well, and its calls
//	  all settled ─────────────────────────────> completed   StepEnded     next turn, or idle
//	  fit no structured output, no retries left > failed      StepFailed    drain continues
//	  one was declined ────────────────────────> failed      StepFailed    drain ends
//	  an extension ended the work ─────────────> failed      StepFailed    drain ends
//	  one waits for a reply at shutdown ───────> unrecorded  (turn open)   next process resumes the call
//	the stream failed, and
//	  the provider blames content ─────────────> unrecorded  Retried       next turn, without that content
//	  may succeed later ───────────────────────> failed*     Retried       next turn, after a wait
//	  otherwise ───────────────────────────────> failed      StepFailed    drain ends
//	the turn was cancelled
//	  by the user ─────────────────────────────> failed      StepFailed    drain ends
//	  by shutdown ─────────────────────────────> failed*     StepFailed    next process resumes
//	no request could be sent, because of
//	  the location, the model or the boundary ─> failed      StepFailed    prompts are promoted first
//	  the system context ──────────────────────> failed      StepFailed    prompts stay pending
//	  the budget ──────────────────────────────> halted      Interrupted   prompts stay pending
//	  the store ───────────────────────────────> unrecorded                drain retries (outage.go)
//	the user interrupted between two turns ────> halted      Interrupted   drain ends
//
//	* only if the turn's message has begun; else unrecorded

// endState says how the end of a turn, or of the work between two turns, is recorded.
type endState int

const (
	unrecorded endState = iota // nothing: the turn stays as it is
	completed                  // StepEnded
	failed                     // StepFailed; a turn without a message gets one first
	halted                     // Interrupted, between two turns
)

// ending is the end of a turn, or of the work between two turns.
type ending struct {
	state   endState
	step    *session.StepEnded // of a completed turn
	failure *session.Failure   // of a failed turn or of halted work
	settled []eventlog.Draft   // settlements that commit with the turn's end, or before its failure
	more    bool               // another turn must follow
	err     error              // ends the drain
}

// callOutcome is the outcome of the calls of a turn, or of one of them.
type callOutcome struct {
	declined  *tool.Denial // a user declined: no further turn
	unsettled bool         // a call waits for a reply that the next process gets
	halted    string       // an extension ended the work, and why: no further turn
	err       error        // the settlement could not be recorded
	// settled is the settlement of a turn's only call: it commits together with the end of the turn, which follows at
	// once.
	settled []eventlog.Draft
}

// merge adds the outcome of another call.
func (o *callOutcome) merge(other callOutcome) {
	o.unsettled = o.unsettled || other.unsettled
	o.settled, o.halted = other.settled, cmp.Or(o.halted, other.halted)
	if o.err == nil {
		o.err = other.err
	}
	if o.declined == nil {
		o.declined = other.declined
	}
}

// endOfCompleted decides how a turn ends whose stream ended well and whose calls came out as o. stopped is the cause if
// the turn was cancelled meanwhile.
func endOfCompleted(o callOutcome, out history.Output, schema *history.OutputSchema, stopped error) ending {
	// What kept the calls from being settled decides first.
	switch {
	case o.unsettled: // asks outlive the process
		return ending{state: unrecorded, err: stopped}
	case o.err != nil:
		return ending{state: failed, failure: turnlog.DescribeFailure(o.err), err: o.err}
	case o.declined != nil:
		reason := session.ReasonDenied
		if o.declined.Action == ask.ActionLoop {
			reason = session.ReasonDoomLoop // an error to clients of V1, for which a declined call is a normal end
		}
		return ending{state: failed, failure: session.Fail(reason, o.declined.Error()), err: turnlog.ErrDeclined}
	case stopped != nil:
		return ending{state: failed, failure: turnlog.DescribeCancellation(stopped), settled: o.settled, err: stopped}
	case o.halted != "":
		f := session.Fail(session.ReasonDenied, o.halted)
		return ending{state: failed, failure: f, settled: o.settled, err: turnlog.ErrDeclined}
	}
	// Otherwise the answer decides; a schema may ask for another turn, or fail this one.
	e := ending{state: completed, step: &session.StepEnded{Finish: out.Finish}, settled: o.settled, more: out.More}
	if schema == nil {
		return e
	}
	v := schema.JudgeAnswer(out)
	if v.Failure != nil {
		return ending{state: failed, failure: v.Failure, settled: o.settled}
	}
	e.step.Structured, e.step.Finish, e.more = v.Value, v.Finish, v.More
	return e
}

// endOfCancelled decides how a turn ends that was cancelled while it streamed. Without a message there is nothing to
// end, unless the user stopped it: then the failure is the answer to the prompt. A restart requests the others again.
func endOfCancelled(stopped error, hasMessage bool) ending {
	if !hasMessage && !errors.Is(stopped, turnlog.ErrInterrupted) {
		return ending{state: unrecorded, err: stopped}
	}
	return ending{state: failed, failure: turnlog.DescribeCancellation(stopped), err: stopped}
}

// endOfFailed ends a turn and the drain with err.
func endOfFailed(f *session.Failure, err error) ending {
	return ending{state: failed, failure: f, err: err}
}

// endOfHalted ends the work between two turns although it is not done.
func endOfHalted(reason session.Reason, err error) ending {
	return ending{state: halted, failure: session.Fail(reason, err.Error()), err: err}
}

// recordEnding makes the ending durable. The cancellation of ctx does not stop it. t is nil between two turns.
func (d *drain) recordEnding(ctx context.Context, t *turn, e ending) (more bool, err error) {
	ctx = context.WithoutCancel(ctx)
	switch e.state {
	case unrecorded:
	case completed:
		err = t.recorder.EndTurn(ctx, e.step, e.settled...)
	case failed:
		// The settlements have happened although the turn fails: they commit before its failure.
		if len(e.settled) > 0 {
			if err := t.recorder.Commit(ctx, store.Durable, e.settled...); err != nil {
				e.failure, e.err = turnlog.DescribeFailure(err), err
			}
		}
		if err = t.recorder.StartMessage(ctx); err == nil {
			err = t.recorder.FailTurn(ctx, e.failure)
		}
	case halted:
		err = d.engine.journal.AppendFacts(ctx, d.id, &session.Interrupted{Error: *e.failure})
	}
	return e.more && err == nil, cmp.Or(err, e.err)
}
