// Package turnlog turns what happens in a turn into the facts that its session records.
//
// A Journal is how the engine's packages read sessions and commit facts: the store, the log, ids and the clock in one
// value (journal.go). A Recorder turns what a model streams into durable events:
//
//	llm.Event -> Record -> items that are open or ended, and calls (stream.go, item.go, call.go)
//	                    -> Commit: what is due, in one append (commit.go)
//	                    -> Checkpoint: the text of open items, so that a crash loses little
//	the end             -> CommitCalls, EndTurn, FailTurn or AbandonTurn (end.go)
//
// Live readers see text as it comes, as fragments; the log gets it at checkpoints and at the end of its item.
//
// Why work stopped decides what is recorded of it: cause.go has the causes with which the engine cancels contexts,
// failure.go turns errors into failures that every reader of the session may see, and retry.go and workcount.go decide
// whether and when a failed attempt is repeated.
package turnlog

import (
	"context"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// Record records one event of the stream. Its errors are those of the commit, an *llm.Error for an event that breaks
// the protocol, and a *TooLongError.
func (r *Recorder) Record(ctx context.Context, ev llm.Event) error {
	switch ev := ev.(type) {
	case llm.ResponseStart:
		return fault.PassPoint(ctx, fault.TurnHeaders)
	// Items begin, grow and end; only their ends and checkpoints carry text into the log.
	case llm.TextStart:
		return r.startItem(ctx, &item{kind: session.FragmentText, id: ev.ID})
	case llm.TextDelta:
		return r.appendDelta(ctx, session.FragmentText, ev.ID, ev.Delta)
	case llm.TextEnd:
		return r.endText(ctx, ev)
	case llm.ReasoningStart:
		return r.startItem(ctx, &item{kind: session.FragmentReasoning, id: ev.ID, meta: ev.Metadata})
	case llm.ReasoningDelta:
		return r.appendDelta(ctx, session.FragmentReasoning, ev.ID, ev.Delta)
	case llm.ReasoningEnd:
		return r.endItem(session.FragmentReasoning, ev.ID, ev.Metadata)
	case llm.ToolInputStart:
		return r.startItem(ctx, &item{kind: session.FragmentToolInput, id: ev.ID, name: ev.Name})
	case llm.ToolInputDelta:
		return r.appendDelta(ctx, session.FragmentToolInput, ev.ID, ev.Delta)
	case llm.ToolInputEnd:
		return r.endItem(session.FragmentToolInput, ev.ID, nil)
	// Calls, results of hosted ones, and the end of the answer.
	case llm.ToolCallEvent:
		return r.recordCall(ctx, ev)
	case llm.HostedResult:
		return r.recordHostedResult(ctx, ev)
	case llm.Finish:
		return r.recordFinish(ev)
	default:
		return newViolation("an event of type %T", ev)
	}
}
