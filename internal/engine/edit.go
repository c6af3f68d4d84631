package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// RemoveMessage takes a message out of the session's history, or a prompt that waits out of its inbox. Neither clients nor
// models see it any more; the log keeps what it said, the ledger what it cost. A session at work is a conflict, unless the
// prompt waits.
func (e *Engine) RemoveMessage(ctx context.Context, id session.ID, m session.MessageID) error {
	return e.edit(ctx, id, m, func(found session.Message) (session.EventData, error) {
		if found == nil {
			return &session.InputWithdrawn{MessageID: m}, nil
		}
		d := &session.MessageRemoved{MessageID: m}
		if sh, ok := found.(*session.Shell); ok {
			d.AnswerID = sh.AnswerID
		}
		return d, nil
	})
}

// EditPrompt replaces what a prompt says, of the history or waiting. Part is the piece of it that is changed, or gone. By
// whom it is answered stays as it is.
func (e *Engine) EditPrompt(ctx context.Context, id session.ID, m session.MessageID, part session.PartID, p session.Prompt) error {
	p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
	if err := firstError(e.limits.checkFiles(p), p.CheckParts("prompt")); err != nil {
		return err
	}
	if _, err := json.Marshal(p); err != nil { // what cannot be stored is not taken
		return session.Errorf(session.CodeInvalid, "the prompt holds text that is not valid UTF-8").At("prompt").Because(err)
	}
	return e.edit(ctx, id, m, func(found session.Message) (session.EventData, error) {
		switch found.(type) {
		case nil:
			return &session.InputEdited{MessageID: m, Prompt: p}, nil
		case *session.User:
			return &session.MessageEdited{MessageID: m, PartID: part, Prompt: p}, nil
		default:
			return nil, session.Errorf(session.CodeInvalid, "%s is no prompt", m).At("messageID")
		}
	})
}

// EditPart replaces the text of an item of a turn.
func (e *Engine) EditPart(ctx context.Context, id session.ID, m session.MessageID, part session.PartID, text string) error {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > e.limits.AnswerBytes {
		return session.Errorf(session.CodeTooLarge, "the text has %d bytes, the limit is %d", len(text), e.limits.AnswerBytes).At("text")
	}
	return e.editTurn(ctx, id, m, part, func(c session.Content) (session.EventData, error) {
		if _, call := c.(*session.Tool); call {
			return nil, session.Errorf(session.CodeInvalid, "what a call did cannot be rewritten").At("partID")
		}
		return &session.PartEdited{TurnFact: session.OfTurn(m), PartID: part, Text: text}, nil
	})
}

// RemovePart takes an item out of a turn.
func (e *Engine) RemovePart(ctx context.Context, id session.ID, m session.MessageID, part session.PartID) error {
	return e.editTurn(ctx, id, m, part, func(session.Content) (session.EventData, error) {
		return &session.PartRemoved{TurnFact: session.OfTurn(m), PartID: part}, nil
	})
}

func (e *Engine) editTurn(ctx context.Context, id session.ID, m session.MessageID, part session.PartID, f func(session.Content) (session.EventData, error)) error {
	return e.edit(ctx, id, m, func(found session.Message) (session.EventData, error) {
		a, ok := found.(*session.Assistant)
		if !ok {
			return nil, session.NotFound("part", string(part))
		}
		i := slices.IndexFunc(a.Content, func(c session.Content) bool { return c.ItemID() == part })
		if i < 0 {
			return nil, session.NotFound("part", string(part))
		}
		return f(a.Content[i])
	})
}

// edit commits the edit of a message; f gets nil for a prompt that waits. Only what rests is edited: a turn at work would go
// on with what it began from, and its answer stand beside another question.
func (e *Engine) edit(ctx context.Context, id session.ID, m session.MessageID, f func(session.Message) (session.EventData, error)) error {
	if err := e.accepting(); err != nil {
		return err
	}
	_, err := e.log.Append(context.WithoutCancel(ctx), id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		if _, err := journal.FindSession(tx, id); err != nil {
			return nil, err
		}
		found, err := e.editable(tx, id, m)
		if err != nil {
			return nil, err
		}
		d, err := f(found)
		if err != nil {
			return nil, err
		}
		return eventlog.Drafts(d), nil
	})
	return err
}

// editable returns the message, nil for a prompt that waits.
func (e *Engine) editable(tx store.Tx, id session.ID, m session.MessageID) (session.Message, error) {
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
	a, ok := newest.(*session.Assistant)
	if ok && a.Open() || e.Status(id).Type != StatusIdle { // an open turn may be at work in another process
		return nil, session.Conflict("session", string(id), "is at work: wait or stop it first")
	}
	return found, nil
}
