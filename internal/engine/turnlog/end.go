package turnlog

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// CommitCalls commits the calls of an answer that ended well, before any of them runs: items that the model left open
// end with the answer, and hosted calls without a result fail.
func (r *Recorder) CommitCalls(ctx context.Context) error {
	for _, it := range r.order {
		it.done = true
	}
	drafts := r.failUnansweredHosted()
	for _, c := range r.calls {
		drafts = append(drafts, eventlog.Draft{Data: c.calledEvent()})
	}
	if len(r.calls) > 0 {
		drafts[len(drafts)-1].Private = &session.Private{Answer: r.answer}
	}
	if len(drafts) == 0 {
		return nil
	}
	return r.Commit(ctx, store.Durable, drafts...)
}

// failUnansweredHosted fails the hosted calls for which the provider sent no result.
func (r *Recorder) failUnansweredHosted() []eventlog.Draft {
	var drafts []eventlog.Draft
	for _, it := range r.order {
		if c := r.callByID[it.id]; c != nil && c.PartID == it.part && c.hosted && !c.settled {
			drafts = append(drafts, eventlog.Draft{Data: &session.ToolFailed{
				CallID: c.ID, PartID: c.PartID,
				Provider: session.CallProvider{Executed: true},
				Error:    *session.Fail(session.ReasonTool, "the provider ended its answer without a result of this call"),
			}})
		}
	}
	return drafts
}

// EndTurn ends the turn well, in one commit with the drafts before it.
func (r *Recorder) EndTurn(ctx context.Context, end *session.StepEnded, before ...eventlog.Draft) error {
	end.EndID = r.config.Journal.NewPartID()
	end.Cost, end.Tokens, end.Usage = r.answer.Cost, r.answer.Tokens, r.answer.Usage
	return r.Commit(ctx, store.Durable, append(before, eventlog.Draft{Data: end})...)
}

// FailTurn ends the turn as failed, if its message is committed. Open items end with the text that they have, marked
// partial; calls without outcome fail.
func (r *Recorder) FailTurn(ctx context.Context, f *session.Failure) error {
	if r.message == "" {
		return nil
	}
	m, err := r.readMessage(ctx)
	if err != nil {
		return err
	}
	drafts := append(r.closeOpenItems(m, f, nil), eventlog.Draft{Data: r.failedEvent(f)})
	return r.appendEvents(ctx, store.Durable, r.message, drafts)
}

// AbandonTurn ends the stored turn as failed, together with more drafts. If calls are kept, these and the turn itself
// stay open, and more is not committed.
func (r *Recorder) AbandonTurn(
	ctx context.Context, m *session.Assistant, why *session.Failure, kept map[session.PartID]bool,
	more ...eventlog.Draft,
) error {
	drafts := r.closeOpenItems(m, why, kept)
	if len(kept) == 0 {
		drafts = append(drafts, more...)
		drafts = append(drafts, eventlog.Draft{Data: r.failedEvent(why)})
	}
	if len(drafts) == 0 {
		return nil
	}
	return r.appendEvents(ctx, store.Durable, r.message, drafts)
}

func (r *Recorder) failedEvent(f *session.Failure) *session.StepFailed {
	end := &session.StepFailed{Error: *f, EndID: r.config.Journal.NewPartID()}
	if r.answer != nil {
		end.Cost, end.Tokens = r.answer.Cost, &r.answer.Tokens
	}
	return end
}

// readMessage reads the turn's message as it is stored.
func (r *Recorder) readMessage(ctx context.Context) (a *session.Assistant, err error) {
	err = r.config.Journal.Store.View(ctx, func(rd store.Reader) error {
		m, ok, err := store.FindMessage(rd, r.config.SessionID, r.message)
		if err == nil && !ok {
			err = session.NotFound("message", string(r.message))
		}
		a, _ = m.(*session.Assistant)
		return err
	})
	return a, err
}

// closeOpenItems ends what is open in the stored turn, which may have more or fewer items than the recorder after a
// failed commit: text ends with what it has, marked partial unless the model had ended it; calls fail, except for those
// that are kept.
func (r *Recorder) closeOpenItems(
	m *session.Assistant, why *session.Failure, kept map[session.PartID]bool,
) (drafts []eventlog.Draft) {
	// Find the recorder's item for each stored one: it may have text that was not committed.
	streamed := map[session.PartID]*item{}
	for _, it := range r.order {
		streamed[it.part] = it
	}
	end := func(it *item, stored item) {
		if it == nil {
			it = &stored
		}
		drafts = append(drafts, eventlog.Draft{Data: it.endEvent(it.meta, !it.done)})
	}
	// End what is open. A call that still streamed first gets the end of its arguments.
	for _, c := range m.Content {
		it := streamed[c.ItemID()]
		switch c := c.(type) {
		case *session.Text:
			if c.Time != nil && c.Time.Completed == 0 {
				end(it, item{kind: session.FragmentText, id: c.ID, part: c.PartID, text: []byte(c.Text)})
			}
		case *session.Reasoning:
			if c.Time != nil && c.Time.Completed == 0 {
				end(it, item{kind: session.FragmentReasoning, id: c.ID, part: c.PartID, text: []byte(c.Text)})
			}
		case *session.Tool:
			if c.State.Status.IsSettled() || kept[c.PartID] {
				continue
			}
			if it != nil && !it.endCommitted && c.State.Status == session.ToolPending {
				drafts = append(drafts, eventlog.Draft{Data: it.endEvent(nil, true)})
			}
			drafts = append(drafts, eventlog.Draft{Data: failedCall(c, why)})
		}
	}
	return drafts
}

// failedCall returns the failure of a call that had no outcome when its turn ended.
func failedCall(c *session.Tool, why *session.Failure) *session.ToolFailed {
	f := session.Fail(why.Reason, "The tool was not run: "+why.Message)
	if c.State.Status == session.ToolRunning {
		f = session.Fail(why.Reason,
			"Tool execution interrupted: its outcome is unknown. Check what it did before you run it again.")
	}
	d := &session.ToolFailed{CallID: c.ID, PartID: c.PartID, Error: *f}
	if c.Provider != nil {
		d.Provider.Executed = c.Provider.Executed
	}
	return d
}

// SettledEvent returns the event that settles the local call, which waited for answers that long.
func (r *Recorder) SettledEvent(c *Call, s tool.Settlement, waited time.Duration) session.EventData {
	if s.Error != nil {
		return &session.ToolFailed{
			TurnFact: session.OfTurn(r.message), CallID: c.ID, PartID: c.PartID, Error: *s.Error,
			Structured: s.Output.Structured, Waited: waited.Milliseconds(), EnvironmentBy: c.EnvironmentBy,
		}
	}
	o := s.Output
	structured := o.Structured
	if len(structured) == 0 {
		structured = jsontext.Value(`{}`)
	}
	return &session.ToolSuccess{
		TurnFact: session.OfTurn(r.message), CallID: c.ID, PartID: c.PartID, Structured: structured, Content: o.Content,
		OutputPaths: o.OutputPaths, Title: o.Title, Attachments: o.Attachments,
		Waited: waited.Milliseconds(), Replaced: s.Replaced, EnvironmentBy: c.EnvironmentBy,
	}
}
