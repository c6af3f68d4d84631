package turnlog

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Commit appends the drafts after the events that are due: the start of the turn's message, once; starts of items that
// no reader had to see yet; ends of items. The end of an item waits for the next commit, because something else nearly
// always follows at once and a commit of its own would cost as much again; checkpoints bound the wait. Once begun,
// Commit is not cancelled by ctx.
func (r *Recorder) Commit(ctx context.Context, d store.Durability, drafts ...eventlog.Draft) error {
	ctx = context.WithoutCancel(ctx)
	// Collect what is due. The first commit begins the message.
	message, facts := r.message, append(r.dueEvents(), drafts...)
	if message == "" {
		message = r.config.Journal.NewMessageID()
		facts = append(eventlog.NewDrafts(r.startEvent()), facts...)
	}
	if len(facts) == 0 {
		return nil
	}
	// Append. After an uncertain commit look whether the events are there: a second message must not begin.
	err := r.appendEvents(ctx, d, message, facts)
	if err == nil || errors.Is(err, store.ErrUncertain) && r.isStored(ctx, message) {
		started := r.message == ""
		r.message = message // from here on, the turn ends under this id whatever happens
		if started && r.config.OnStart != nil {
			defer r.config.OnStart(message)
		}
	}
	if err != nil {
		return err
	}
	// Note what is stored; readers now know of new items, and get the text that these had by then.
	for _, it := range r.order {
		if it.endCommitted = it.done; !it.startCommitted {
			it.startCommitted = true
			r.config.Journal.Log.Publish(r.config.SessionID, it.part, string(it.text))
		}
	}
	return nil
}

// appendEvents appends the events as those of the message.
func (r *Recorder) appendEvents(
	ctx context.Context, d store.Durability, m session.MessageID, drafts []eventlog.Draft,
) error {
	for _, draft := range drafts {
		if e, ok := draft.Data.(session.TurnEvent); ok {
			e.Turn().AssistantMessageID = m
		}
	}
	_, err := r.config.Journal.AppendDrafts(ctx, r.config.SessionID, d, drafts...)
	return err
}

// startEvent returns the event that begins the turn's message.
func (r *Recorder) startEvent() *session.StepStarted {
	if r.start == "" {
		r.start = r.config.Journal.NewPartID()
	}
	return &session.StepStarted{
		Agent: r.config.Agent, Model: r.config.Model, ParentID: r.config.ParentID,
		StartID: r.start, Prefix: r.config.Prefix, Altered: r.config.Altered, Subtasks: r.config.Subtasks,
	}
}

// isStored reports whether the message is stored, after a commit whose outcome is unknown.
func (r *Recorder) isStored(ctx context.Context, m session.MessageID) (ok bool) {
	err := r.config.Journal.Store.View(ctx, func(rd store.Reader) (err error) {
		_, ok, err = store.FindMessage(rd, r.config.SessionID, m)
		return err
	})
	return ok && err == nil
}

// dueEvents returns the events that wait for the next commit.
func (r *Recorder) dueEvents() (drafts []eventlog.Draft) {
	for _, it := range r.order {
		if !it.startCommitted {
			drafts = append(drafts, eventlog.Draft{Data: it.startEvent()})
		}
		if it.done && !it.endCommitted {
			drafts = append(drafts, eventlog.Draft{Data: it.endEvent(it.meta, false)})
		}
	}
	return drafts
}

// CommitStarts commits the items whose start is not committed yet, if there are any: a call that a broken answer began
// is part of what happened.
func (r *Recorder) CommitStarts(ctx context.Context) error {
	if !slices.ContainsFunc(r.order, func(it *item) bool { return !it.startCommitted }) {
		return nil
	}
	return r.Commit(ctx, store.Relaxed)
}

// StartMessage commits the turn's message if it is not committed yet.
func (r *Recorder) StartMessage(ctx context.Context) error {
	if r.message != "" {
		return nil
	}
	return r.Commit(ctx, store.Relaxed)
}

// Checkpoint makes the text of the open items durable.
func (r *Recorder) Checkpoint(ctx context.Context) error {
	var drafts []eventlog.Draft
	for _, it := range r.order {
		if !it.done && it.saved < len(it.text) {
			drafts = append(drafts, eventlog.Draft{Data: &session.ItemCheckpointed{
				PartID: it.part, Offset: it.saved, Text: string(it.text[it.saved:]),
			}})
			it.saved = len(it.text)
		}
	}
	r.unsaved = 0
	if len(drafts) == 0 && len(r.dueEvents()) == 0 {
		return nil
	}
	return r.Commit(ctx, store.Durable, drafts...)
}
