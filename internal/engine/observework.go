package engine

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxEventText bounds the bytes of an answer that extensions are told of when work ends.
const maxEventText = 200

// observedWork is the work of a session from its first turn until it is done, as extensions are told of it.
type observedWork struct {
	observed extension.Observations
	began    time.Time
	parent   session.ID // of a subagent
	agent    string
}

// observeWork tells the extensions that work begins, with the first of its turns. It returns the context of the turn.
func (d *drain) observeWork(ctx context.Context, now *boundary, input *turnInput) context.Context {
	if input.extensions == nil {
		return ctx
	}
	if d.work == nil {
		a := extension.Activity{
			SessionID: d.id, ParentID: input.session.ParentID, MessageID: now.prompt, Agent: input.agent.ID,
		}
		if n := len(now.pending); n > 0 {
			a.MessageID = now.pending[n-1].ID
		}
		d.work = &observedWork{
			observed: input.extensions.Observe(ctx, a), began: d.engine.journal.Now(), parent: a.ParentID, agent: a.Agent,
		}
	}
	return d.work.observed.Attach(ctx)
}

// endWork tells the extensions how the work ended: those that follow it, and, if no other work comes next, those that are
// told of events. Work that goes on by itself, in the next process or when the store can be used again, is no event.
func (d *drain) endWork(ctx context.Context, next session.Delivery, err error) {
	work := d.work
	d.work = nil
	if work == nil || len(work.observed) == 0 && !d.extensions.HasEvent() {
		return
	}
	// Find out how it ended.
	failure, text := d.describeEnd(context.WithoutCancel(ctx), work, err)
	how := extension.Outcome{}
	if failure != nil {
		how.Failure = failure.Reason
	}
	work.observed.End(how)
	if next != "" || isTransient(err) || errors.Is(context.Cause(ctx), turnlog.ErrShutdown) {
		return
	}
	// Tell.
	e := extension.Event{
		Type: extension.EventWorkEnded, SessionID: d.id, ParentID: work.parent, Agent: work.agent,
		Cause: extension.CauseCompleted, Text: text, Duration: d.engine.journal.Now().Sub(work.began),
	}
	switch {
	case failure != nil && failure.Reason == session.ReasonAborted:
		e.Cause, e.Text = extension.CauseStopped, ""
	case failure != nil:
		e.Type, e.Cause, e.Text = extension.EventWorkFailed, string(failure.Reason), failure.Message
	}
	e.Text = session.ClipText(e.Text, maxEventText)
	d.extensions.Notify(&d.engine.journal.Events, e)
}

// describeEnd returns the failure of the work, nil without one, and the text of its last answer.
func (d *drain) describeEnd(ctx context.Context, work *observedWork, err error) (*session.Failure, string) {
	if errors.Is(err, turnlog.ErrInterrupted) || errors.Is(err, turnlog.ErrShutdown) {
		return turnlog.DescribeCancellation(err), ""
	}
	if exceeded, ok := errors.AsType[*ask.BudgetError](err); ok {
		return session.Fail(session.ReasonBudget, exceeded.Error()), ""
	}
	// The newest turn has what was recorded.
	if h, readErr := d.readHistory(ctx); readErr == nil {
		if messages := h.ListWork(); len(messages) > 0 {
			a, ok := messages[len(messages)-1].(*session.Assistant)
			if ok && a.Time.Created >= work.began.UnixMilli() && (a.Error != nil || err == nil) {
				return a.Error, a.LastText()
			}
		}
	}
	if err != nil {
		return turnlog.DescribeFailure(err), ""
	}
	return nil, ""
}
