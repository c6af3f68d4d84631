package admit

import (
	"context"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// RemoveMessage removes a message from the session's history, or a pending prompt from its inbox. Clients and models
// no longer see it; the log keeps its content, and the spend its cost. While the session is at work it is a conflict,
// except for a pending prompt.
func (c *Commands) RemoveMessage(ctx context.Context, id session.ID, m session.MessageID) error {
	return c.edit(ctx, id, m, func(found session.Message) (session.EventData, error) {
		if found == nil {
			return &session.InputWithdrawn{MessageID: m}, nil
		}
		return newRemoval(found), nil
	})
}

// newRemoval returns the event that removes the message.
func newRemoval(m session.Message) *session.MessageRemoved {
	d := &session.MessageRemoved{MessageID: m.Meta().ID}
	switch m := m.(type) {
	case *session.Shell:
		d.AnswerID = m.AnswerID
	case *session.Compaction:
		d.AnswerID = m.RequestID
	}
	return d
}

// EditPrompt replaces the content of a prompt, promoted or pending. Part is the piece of the prompt that changes or
// goes. The prompt's agent and model stay.
func (c *Commands) EditPrompt(
	ctx context.Context, id session.ID, m session.MessageID, part session.PartID, p session.Prompt,
) error {
	if err := c.authorizeEdit(ctx, m); err != nil {
		return err
	}
	if err := c.limits.checkContent(&p); err != nil {
		return err
	}
	if err := checkEncoding(&p); err != nil {
		return err
	}
	return c.edit(ctx, id, m, func(found session.Message) (session.EventData, error) {
		switch found.(type) {
		case nil:
			return &session.InputEdited{MessageID: m, Prompt: p, Restricted: isRestricted(ctx)}, nil
		case *session.User:
			return &session.MessageEdited{MessageID: m, PartID: part, Prompt: p}, nil
		default:
			return nil, session.Errorf(session.CodeInvalid, "message %s is not a prompt", m).At("messageID")
		}
	})
}

// EditPart replaces the text of an item of a turn.
func (c *Commands) EditPart(
	ctx context.Context, id session.ID, m session.MessageID, part session.PartID, text string,
) error {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if limit := c.limits.AnswerBytes; len(text) > limit {
		return session.Errorf(session.CodeTooLarge, "the text has %d bytes, the limit is %d", len(text), limit).
			At("text")
	}
	return c.edit(ctx, id, m, func(found session.Message) (session.EventData, error) {
		item, err := findItem(found, part)
		if err != nil {
			return nil, err
		}
		if _, isCall := item.(*session.Tool); isCall {
			return nil, session.Errorf(session.CodeInvalid, "the result of a tool call cannot be edited").At("partID")
		}
		return &session.PartEdited{TurnFact: session.OfTurn(m), PartID: part, Text: text}, nil
	})
}

// RemovePart removes an item of a turn.
func (c *Commands) RemovePart(ctx context.Context, id session.ID, m session.MessageID, part session.PartID) error {
	return c.edit(ctx, id, m, func(found session.Message) (session.EventData, error) {
		if _, err := findItem(found, part); err != nil {
			return nil, err
		}
		return &session.PartRemoved{TurnFact: session.OfTurn(m), PartID: part}, nil
	})
}

// findItem returns the item of the turn.
func findItem(m session.Message, part session.PartID) (session.Content, error) {
	if a, ok := m.(*session.Assistant); ok {
		i := slices.IndexFunc(a.Content, func(c session.Content) bool { return c.ItemID() == part })
		if i >= 0 {
			return a.Content[i], nil
		}
	}
	return nil, session.NotFound("part", string(part))
}

// edit commits the edit of a message that decide returns; decide gets nil for a pending prompt. Only an idle session
// is edited: a running turn would continue from what it was sent, and answer another question.
func (c *Commands) edit(
	ctx context.Context, id session.ID, m session.MessageID, decide func(session.Message) (session.EventData, error),
) error {
	if err := c.checkOpen(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	_, err := c.journal.Log.Append(ctx, id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		if _, err := store.FindSession(tx, id); err != nil {
			return nil, err
		}
		found, err := c.findEditable(tx, id, m)
		if err != nil {
			return nil, err
		}
		d, err := decide(found)
		if err != nil {
			return nil, err
		}
		return eventlog.NewDrafts(d), nil
	})
	return err
}

// findEditable returns the message, nil for a pending prompt. It is a conflict if the session is at work, in this
// process or, as an open turn shows, in another one.
func (c *Commands) findEditable(tx store.Tx, id session.ID, m session.MessageID) (session.Message, error) {
	in, ok, err := store.FindInput(tx, m)
	if err != nil || ok && in.SessionID == id && in.PromotedSeq == nil {
		return nil, err
	}
	found, ok, err := store.FindMessage(tx, id, m)
	if err == nil && !ok {
		err = session.NotFound("message", string(m))
	}
	if err != nil {
		return nil, err
	}
	newest, _, err := store.NewestMessage(tx, id, session.TypeAssistant)
	if err != nil {
		return nil, err
	}
	a, isTurn := newest.(*session.Assistant)
	if isTurn && a.Open() || !c.scheduler.IsIdle(id) {
		return nil, session.Conflict("session", string(id), "is working; wait until it is idle, or interrupt it")
	}
	return found, nil
}
