package engine

import (
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Withdraw takes a pending prompt back. A promoted one is a conflict.
func (e *Engine) Withdraw(ctx context.Context, id session.ID, m session.MessageID) error {
	return e.changeInbox(ctx, id, &session.InputWithdrawn{MessageID: m})
}

// InputChange says what to change of a pending prompt; what is nil or empty stays.
type InputChange struct {
	Prompt   *session.Prompt
	Delivery session.Delivery
}

// ChangeInput changes a pending prompt, all of what is asked or nothing.
func (e *Engine) ChangeInput(ctx context.Context, id session.ID, m session.MessageID, c InputChange) error {
	var facts []session.EventData
	if c.Prompt != nil {
		r := PromptRequest{SessionID: id, ID: m, Prompt: *c.Prompt}
		if err := e.check(&r); err != nil {
			return err
		}
		s, err := e.session(ctx, id)
		if err == nil {
			err = e.present(ctx, s, r.Prompt)
		}
		if err != nil {
			return err
		}
		facts = append(facts, &session.InputEdited{MessageID: m, Prompt: r.Prompt})
	}
	switch c.Delivery {
	case "":
	case session.Steer, session.Queue:
		facts = append(facts, &session.InputRedirected{MessageID: m, Delivery: c.Delivery})
	default:
		return session.Errorf(session.CodeInvalid, "delivery must be %q or %q, got %q", session.Steer, session.Queue, c.Delivery).At("delivery")
	}
	if err := e.changeInbox(ctx, id, facts...); err != nil {
		return err
	}
	if c.Delivery != "" {
		e.coordinator.wake(id, unforced)
		if c.Delivery == session.Steer {
			e.pauses.cut(id)
		}
	}
	return nil
}

// Reorder puts the pending prompts into the order of ms, which names each of them once.
func (e *Engine) Reorder(ctx context.Context, id session.ID, ms []session.MessageID) error {
	return e.changeInbox(ctx, id, &session.InputReordered{MessageIDs: ms})
}

func (e *Engine) changeInbox(ctx context.Context, id session.ID, facts ...session.EventData) error {
	if err := e.accepting(); err != nil {
		return err
	}
	return e.fact(ctx, id, facts...)
}

// fact commits durable facts of an existing session, all or none.
func (e *Engine) fact(ctx context.Context, id session.ID, facts ...session.EventData) error {
	return e.journal.AppendFacts(ctx, id, facts...)
}

// Pending returns the prompts that wait, in the order of their promotion within each delivery.
func (e *Engine) Pending(ctx context.Context, id session.ID) (ins []*session.Input, err error) {
	err = e.store.View(ctx, func(r store.Reader) error {
		if _, err := journal.FindSession(r, id); err != nil {
			return err
		}
		ins, err = store.PendingInputs(r, id, "", 0)
		return err
	})
	return ins, err
}

func validTitle(title string) (string, error) {
	title = strings.TrimSpace(strings.ToValidUTF8(title, "\uFFFD"))
	switch {
	case title == "":
		return "", session.Errorf(session.CodeInvalid, "the title is empty").At("title")
	case len(title) > maxTitle:
		return "", session.Errorf(session.CodeInvalid, "the title has %d bytes, the limit is %d", len(title), maxTitle).At("title")
	}
	return title, nil
}

const maxTitle = 1000
