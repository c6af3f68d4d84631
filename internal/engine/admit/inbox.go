package admit

import (
	"context"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// ListPending returns the pending prompts, in the order of their promotion within each delivery.
func (c *Commands) ListPending(ctx context.Context, id session.ID) ([]*session.Input, error) {
	return c.journal.ListPending(ctx, id)
}

// WithdrawPrompt takes a pending prompt back. A promoted one is a conflict.
func (c *Commands) WithdrawPrompt(ctx context.Context, id session.ID, m session.MessageID) error {
	err := c.changeInbox(ctx, id, &session.InputWithdrawn{MessageID: m})
	if err == nil {
		c.withdrawn.add(m)
	}
	return err
}

// PromptChange holds the new values for a pending prompt; nil and empty fields stay.
type PromptChange struct {
	Prompt   *session.Prompt
	Delivery session.Delivery
}

// ChangePrompt applies a change to a pending prompt, all of it or nothing.
func (c *Commands) ChangePrompt(ctx context.Context, id session.ID, m session.MessageID, change PromptChange) error {
	// Check the new prompt as a new one is checked, and the new delivery.
	var facts []session.EventData
	if change.Prompt != nil {
		if err := c.authorizeEdit(ctx, m); err != nil {
			return err
		}
		r := PromptRequest{SessionID: id, ID: m, Prompt: *change.Prompt}
		if err := c.checkPrompt(&r); err != nil {
			return err
		}
		if err := c.checkReferences(ctx, id, r.Prompt); err != nil {
			return err
		}
		facts = append(facts, &session.InputEdited{MessageID: m, Prompt: r.Prompt, Restricted: isRestricted(ctx)})
	}
	if change.Delivery != "" {
		if err := checkDelivery(change.Delivery); err != nil {
			return err
		}
		facts = append(facts, &session.InputRedirected{MessageID: m, Delivery: change.Delivery})
	}
	// Apply both in one transaction.
	if err := c.changeInbox(ctx, id, facts...); err != nil {
		return err
	}
	if change.Delivery == "" {
		return nil
	}
	// Another delivery may make it due now: wake the session, and end a wait before a retry for a steer.
	if in, err := findInput(ctx, c.journal.Store, m); err != nil || in == nil || !in.StartsWork() {
		return err
	}
	c.scheduler.Wake(id, false)
	if change.Delivery == session.Steer {
		c.scheduler.EndPause(id)
	}
	return nil
}

// findInput returns the prompt with the id, nil without one.
func findInput(ctx context.Context, v store.Viewer, m session.MessageID) (in *session.Input, err error) {
	err = v.View(ctx, func(r store.Reader) (err error) {
		in, _, err = store.FindInput(r, m)
		return err
	})
	return in, err
}

// authorizeEdit refuses a new text for a prompt whose asks are allowed if the caller may not allow them.
func (c *Commands) authorizeEdit(ctx context.Context, m session.MessageID) error {
	if !isRestricted(ctx) {
		return nil
	}
	in, err := findInput(ctx, c.journal.Store, m)
	if err != nil || in == nil || !in.Asks.Allows() {
		return err
	}
	return caller.Require(ctx, caller.Approve, "a change of a prompt whose asks are allowed")
}

// ReorderPrompts puts the pending prompts into the order of ms, which names each of them once.
func (c *Commands) ReorderPrompts(ctx context.Context, id session.ID, ms []session.MessageID) error {
	return c.changeInbox(ctx, id, &session.InputReordered{MessageIDs: ms})
}

func (c *Commands) changeInbox(ctx context.Context, id session.ID, facts ...session.EventData) error {
	if err := c.checkOpen(); err != nil {
		return err
	}
	return c.journal.AppendFacts(ctx, id, facts...)
}
