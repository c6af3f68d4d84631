package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Shrinker shrinks requests. It is safe for concurrent use by different sessions.
type Shrinker struct {
	Journal   *turnlog.Journal
	Summaries *Writer
	// ShowRetry shows when the next attempt at a summary is made, until the function that it returns is called.
	ShowRetry func(id session.ID, r *session.Retried) (end func())
	// ListChanged returns the files that commands and subagents changed in the turns of a session.
	ListChanged func(
		ctx context.Context, id session.ID, files scope.Worktree, turns map[session.MessageID]bool,
	) ([]session.FileRecord, error)
}

// Cause is the reason for a compaction.
type Cause struct {
	Request    *session.Input // nil: it begins by itself
	Extensions *extension.Run // that see it; nil without any
}

// Compact replaces the past by a summary and returns the event that ends the compaction, nil if there is nothing to
// summarise. After an error the session is as it was, and has recorded the reason.
//
// The compaction begins with an event before the model is asked, so that a restart can close it (AbandonCompaction).
// Its end is recorded also if ctx has ended. If an automatic compaction gets no summary, it keeps the facts and the
// tail: the session goes on without the rest.
func (k *Shrinker) Compact(ctx context.Context, q *FitRequest, why Cause) (*session.CompactionEnded, error) {
	// Choose the messages and the writer.
	working := q.History.NeedsTurn()
	choice := q.selectMessages()
	if choice.IsEmpty() {
		return nil, nil
	}
	writer, err := q.findWriter(why.Request)
	if err != nil {
		return nil, errors.Join(err, k.Refuse(ctx, q, why, err))
	}
	// Show it to extensions, which add to the instructions.
	instructions, by, err := k.consultExtensions(ctx, q, why)
	if err != nil {
		return nil, err
	}
	// Collect the facts that no summary may lose.
	turns := map[session.MessageID]bool{}
	for _, m := range choice.Head {
		turns[m.Meta().ID] = true
	}
	if choice.Changed, err = k.ListChanged(ctx, q.Session.ID, q.Scope.Files, turns); err != nil {
		// The record lacks these files.
		k.Journal.Logger.Warn("the files that commands changed are not known", "session", q.Session.ID, "error", err)
	}
	record, err := q.readRecord(ctx, k.Journal.Store, choice)
	if err != nil {
		return nil, err
	}
	// Record the beginning.
	start := k.newCompaction(q, why, writer.Ref)
	start.Extensions = by
	if err := k.Journal.AppendFacts(ctx, q.Session.ID, start); err != nil {
		return nil, err
	}
	if err := fault.PassPoint(ctx, fault.CompactStart); err != nil {
		return nil, err
	}
	// Ask for the summary.
	request := q.newSummaryRequest(writer, choice, record)
	request.Instructions = instructions
	request.Publish = func(delta string) { k.Journal.Log.Publish(q.Session.ID, start.TextID, delta) }
	request.ReportWait = func(attempts int, e *llm.Error, wait time.Duration) func() {
		fact := &session.Retried{
			Attempt: attempts, Next: k.Journal.Now().Add(wait).UnixMilli(), Error: turnlog.NewRetryError(e),
		}
		fact.Error.Metadata = map[string]string{"request": "summary"}
		return k.recordRetry(ctx, q.Session.ID, fact)
	}
	text, used, err := k.Summaries.Write(ctx, request)
	if err != nil && why.Request == nil && isFinal(err) {
		k.Journal.Logger.Warn("the history goes on with its facts, without a summary", "session", q.Session.ID, "error", err)
		text, err = strings.TrimSpace(request.Previous+fmt.Sprintf(missingSummary, err)), nil
	}
	// Record the failure, or the summary with what stays.
	clean := context.WithoutCancel(ctx)
	if err != nil {
		f := &session.CompactionFailed{
			MessageID: start.MessageID, Reason: start.Reason, Error: *k.DescribeFailure(err), Request: used,
			SummaryAs: start.SummaryAs,
		}
		return nil, errors.Join(err, k.Journal.AppendFacts(clean, q.Session.ID, f))
	}
	if err := fault.PassPoint(ctx, fault.CompactSummary); err != nil {
		return nil, err
	}
	end := &session.CompactionEnded{
		MessageID: start.MessageID, Reason: start.Reason, Text: text, Record: record, Request: used,
		Kept: choice.DescribeKept(q.History.CountTurns()), Before: q.Tokens, SummaryAs: start.SummaryAs,
	}
	end.After = q.estimateAfter(clean, choice, end)
	// Go on with the work, unless the configuration or an extension ends it here.
	goesOn := working || start.Proceed
	if !q.Scope.Compaction.Stop && (why.Request == nil || goesOn) {
		end.StoppedBy = askToProceed(clean, q, why.Extensions)
	}
	stops := q.Scope.Compaction.Stop || len(end.StoppedBy) > 0
	end.Continue = goesOn && !stops && choice.EndsInTurn()
	return end, k.recordCompaction(clean, q, end, stopFact(why, stops))
}

// stopFact returns the fact that ends the work after an automatic compaction, nil if it goes on.
func stopFact(why Cause, stops bool) *session.Interrupted {
	if why.Request != nil || !stops {
		return nil
	}
	return &session.Interrupted{Error: *session.Fail(session.ReasonCompacted, ErrStopped.Error())}
}

// missingSummary stands where a summary would continue the one before it.
const missingSummary = "\n\n(No summary of the later conversation could be written: %v. What was decided and found " +
	"in it is lost, except for the facts below: look at the files again before you rely on them.)"

// isFinal reports whether another attempt would get no summary either: the model writes something else, or its provider
// refuses the question. Transient errors are not final, and neither are those that stop the conversation as well, such
// as a wrong key.
func isFinal(err error) bool {
	if _, ok := errors.AsType[*UnusableError](err); ok {
		return true
	}
	e, ok := errors.AsType[*llm.Error](err)
	return ok && (e.Class == llm.InvalidRequest || e.Class == llm.Overflow || e.Class == llm.ContentFilter)
}

// recordRetry records a failed attempt at a summary and shows that another one follows.
func (k *Shrinker) recordRetry(ctx context.Context, id session.ID, r *session.Retried) (end func()) {
	if err := k.Journal.AppendFacts(ctx, id, r); err != nil { // the end of the compaction meets the same error
		k.Journal.Logger.Warn("a failed attempt at a summary could not be recorded", "session", id, "error", err)
	}
	return k.ShowRetry(id, r)
}

// ErrStopped is the reason for which work ends after an automatic compaction if the configuration stops it there
// (compaction.stop).
var ErrStopped = errors.New("the history was replaced by a summary; prompt the session to go on")

// Refuse records that the compaction cannot begin because of err: its request leaves the inbox.
func (k *Shrinker) Refuse(ctx context.Context, q *FitRequest, why Cause, err error) error {
	start := k.newCompaction(q, why, q.Model.Ref)
	return k.Journal.AppendFacts(ctx, q.Session.ID, start, &session.CompactionFailed{
		MessageID: start.MessageID, Reason: start.Reason, Error: *k.DescribeFailure(err), SummaryAs: start.SummaryAs,
	})
}

// DescribeFailure returns what the session records of a compaction that failed.
func (k *Shrinker) DescribeFailure(err error) *session.Failure {
	if e, ok := errors.AsType[*UnusableError](err); ok {
		return session.Fail(session.ReasonSummary, e.Error())
	}
	if errors.Is(err, turnlog.ErrShutdown) || errors.Is(err, turnlog.ErrInterrupted) || errors.Is(err, turnlog.ErrCancelled) {
		return turnlog.DescribeCancellation(err)
	}
	return turnlog.DescribeFailure(err)
}

// recordCompaction makes the compaction durable, with the epoch that it ends. If the work goes on, it adds a message
// that says so to the model. stop is the event that ends the work, nil without one.
func (k *Shrinker) recordCompaction(
	ctx context.Context, q *FitRequest, end *session.CompactionEnded, stop *session.Interrupted,
) error {
	// Collect the events: the end of the compaction, the message to the model, the end of the work.
	since := q.Epoch.BaselineSeq
	drafts := []eventlog.Draft{{Data: end, Private: &session.Private{
		Before: &session.Epoch{Baseline: &q.Epoch.Baseline, Snapshot: q.Epoch.Snapshot, Since: &since},
	}}}
	if end.Continue {
		drafts = append(drafts, eventlog.Draft{Data: &session.SyntheticAdded{
			MessageID: k.Journal.NewMessageID(), Text: continueText,
			Metadata: jsontext.Value(`{"compaction_continue":true}`),
		}})
	}
	if stop != nil {
		drafts = append(drafts, eventlog.Draft{Data: stop})
	}
	// Commit them together.
	if err := fault.PassPoint(ctx, fault.CompactPreSwitch); err != nil {
		return err
	}
	if _, err := k.Journal.AppendDrafts(ctx, q.Session.ID, store.Durable, drafts...); err != nil {
		return err
	}
	return fault.PassPoint(ctx, fault.CompactSwitched)
}

// AbandonCompaction ends a compaction that an earlier process left open: the session is as it was before. event says
// how that process ended.
func (k *Shrinker) AbandonCompaction(
	ctx context.Context, id session.ID, c *session.CompactionStarted, event string,
) error {
	return k.Journal.AppendFacts(ctx, id, &session.CompactionFailed{
		MessageID: c.MessageID, Reason: c.Reason, SummaryAs: c.SummaryAs,
		Error: *session.Fail(session.ReasonInterrupted, event+" while the history was being summarised"),
	})
}

// newCompaction returns the event that begins a compaction.
func (k *Shrinker) newCompaction(q *FitRequest, why Cause, writer session.ModelRef) *session.CompactionStarted {
	j := k.Journal
	reason, request, proceed, model := session.CompactionAuto, j.NewMessageID(), false, &q.Model.Ref
	if why.Request != nil {
		reason, request, proceed = session.CompactionManual, why.Request.ID, why.Request.Compaction.Proceed
		model = cmp.Or(why.Request.Compaction.Model, model) // the prompt for the summary names its writer
	}
	return &session.CompactionStarted{MessageID: j.NewMessageID(), Reason: reason, SummaryAs: session.SummaryAs{
		RequestID: request, AskID: j.NewPartID(), StartID: j.NewPartID(), TextID: j.NewPartID(), EndID: j.NewPartID(),
		Agent: q.Agent.ID, Model: model, Writer: &writer, Overflow: q.Rejected, Proceed: proceed,
		Started: j.Now().UnixMilli(),
	}}
}

// continueText follows the summary where the work goes on.
const continueText = "The conversation up to here was replaced by the record above. Go on with the next step of the " +
	"work. If no step is left, or the next one is not clear, say so and ask."
