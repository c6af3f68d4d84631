package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// begin commits the turn's message, once, together with more.
func (t *turn) begin(ctx context.Context, more ...eventlog.Draft) error {
	if t.message != "" && len(more) == 0 {
		return nil
	}
	return t.commit(ctx, store.Relaxed, more...)
}

func (t *turn) exists(ctx context.Context, m session.MessageID) (ok bool) {
	err := t.store.View(ctx, func(r store.Reader) (err error) {
		_, ok, err = r.Message(t.id, m)
		return err
	})
	return ok && err == nil
}

// commit appends the drafts behind what is due: the turn's message, once; the starts of items that nobody needed to see
// yet; the ends of those that the model has ended. These wait for it, because something else nearly always follows at
// once, and a commit of their own would cost as much again; checkpoint bounds the wait. Once begun it is not cancelled
// by ctx.
func (t *turn) commit(ctx context.Context, d store.Durability, drafts ...eventlog.Draft) error {
	ctx = context.WithoutCancel(ctx)
	message, facts := t.message, append(t.due(), drafts...)
	if message == "" {
		message = t.messageID()
		if t.begins == "" {
			t.begins = t.partID()
		}
		started := &session.StepStarted{
			AssistantMessageID: message, Agent: t.set.agent.ID, Model: t.set.model.Ref, ParentID: t.asked(ctx), StartID: t.begins, Prefix: t.prefix,
		}
		facts = append(eventlog.Drafts(started), facts...)
	}
	if len(facts) == 0 {
		return nil
	}
	for _, f := range facts {
		setMessage(f.Data, message)
	}
	_, err := t.append(ctx, t.id, d, facts...)
	if err == nil || errors.Is(err, store.ErrUncertain) && t.exists(ctx, message) {
		if t.message == "" {
			defer t.begun()
		}
		t.message = message // then whatever comes, the turn is ended under this id
	}
	if err != nil {
		return err
	}
	for _, it := range t.order {
		if it.ended = it.done; !it.begun {
			it.begun = true
			t.log.Publish(t.id, it.part, string(it.text))
		}
	}
	return nil
}

// asked returns the newest prompt of the history: the one that the turn answers. A compaction may have hidden it from the
// model.
func (t *turn) asked(ctx context.Context) (id session.MessageID) {
	err := t.store.View(ctx, func(r store.Reader) error {
		m, ok, err := r.NewestOf(t.id, session.TypeUser)
		if ok {
			id = m.Meta().ID
		}
		return err
	})
	if err != nil { // the commit that follows says so
		t.logger.Warn("look for the prompt of a turn", "session", t.id, "error", err)
	}
	return id
}

// due are the facts that wait for the next commit.
func (t *turn) due() (drafts []eventlog.Draft) {
	for _, it := range t.order {
		if !it.begun {
			drafts = append(drafts, eventlog.Draft{Data: t.startOf(it)})
		}
		if it.done && !it.ended {
			drafts = append(drafts, eventlog.Draft{Data: t.endOf(it, it.meta, false)})
		}
	}
	return drafts
}

// unseen reports whether an item began of which no fact says so yet.
func (t *turn) unseen() bool {
	return slices.ContainsFunc(t.order, func(it *openItem) bool { return !it.begun })
}

// setMessage names the turn in facts that were made before it had a message.
func setMessage(d session.EventData, id session.MessageID) {
	switch e := d.(type) {
	case *session.TextStarted:
		e.AssistantMessageID = id
	case *session.TextEnded:
		e.AssistantMessageID = id
	case *session.ReasoningStarted:
		e.AssistantMessageID = id
	case *session.ReasoningEnded:
		e.AssistantMessageID = id
	case *session.ToolInputStarted:
		e.AssistantMessageID = id
	case *session.ToolInputEnded:
		e.AssistantMessageID = id
	case *session.ToolCalled:
		e.AssistantMessageID = id
	case *session.ItemCheckpointed:
		e.AssistantMessageID = id
	case *session.StepEnded:
		e.AssistantMessageID = id
	}
}

// checkpoint makes what the open items hold durable.
func (t *turn) checkpoint(ctx context.Context) error {
	var drafts []eventlog.Draft
	for _, it := range t.order {
		if !it.done && it.saved < len(it.text) {
			drafts = append(drafts, eventlog.Draft{Data: &session.ItemCheckpointed{
				AssistantMessageID: t.message, PartID: it.part, Offset: it.saved, Text: string(it.text[it.saved:]),
			}})
			it.saved = len(it.text)
		}
	}
	t.dirty = 0
	if len(drafts) == 0 && len(t.due()) == 0 {
		return nil
	}
	return t.commit(ctx, store.Durable, drafts...)
}

// begun keeps what the turn asked, once the turn is recorded, and raises the alarm if its prefix changed by itself: that
// costs the whole conversation again.
func (t *turn) begun() {
	if t.prefix == nil {
		return // it asked nothing
	}
	t.set.cached.sent = history.Sent{Turn: t.message, Prefix: t.sends}
	if changed := t.prefix.Alarm(); changed != "" {
		t.logger.Warn("a request does not begin as the one before, so that the provider's cache is of no use", "session", t.id, "turn", t.message, "changed", changed)
	}
}
