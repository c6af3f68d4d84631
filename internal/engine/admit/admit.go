// Package admit implements what callers ask of a session: to create, change, delete or import it, to copy it, to admit
// prompts into its inbox, to edit its history, and to run a shell command in it.
//
// A command validates its request first and then commits facts, all or none. When it returns without an error its
// facts are durable. It starts work only through a Scheduler, which the engine implements; the package imports
// neither the engine nor its turns.
//
// A fork has the messages of its source up to a point, under ids of its own, and the recorded changes of files by their
// calls; messages that a staged revert hides are not copied (fork.go, copy.go). Files that messages name, such as long
// outputs of tools, are shared with the source. Copied messages cost nothing: their costs are entered for the source.
package admit

import (
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// AdmitPrompt admits a prompt and wakes the session. The prompt is durable once it returns without an error. The same
// id with the same content returns the same receipt and wakes the session again, which repairs a lost wake; the same
// id with other content is a conflict (AD-2 to AD-6). Once the commit has begun, ctx does not cancel it.
func (c *Commands) AdmitPrompt(ctx context.Context, r PromptRequest) (*session.Input, error) {
	if err := c.checkRequest(r.UnderWay); err != nil {
		return nil, err
	}
	// Complete and check the prompt.
	if err := c.readFiles(ctx, &r); err != nil {
		return nil, err
	}
	if err := c.checkPrompt(&r); err != nil {
		return nil, err
	}
	if r.Asks.Allows() {
		if err := caller.Require(ctx, caller.Approve, "a prompt whose asks are allowed"); err != nil {
			return nil, err
		}
		what := fmt.Sprintf("all asks of the prompt %s of %s", r.ID, r.SessionID)
		if r.Asks == session.AskPolicy(ask.PolicyEdits) {
			what = fmt.Sprintf("edits of the prompt %s of %s", r.ID, r.SessionID)
		}
		if err := c.journal.Audit.AddEntry(ctx, audit.KindApproval, what); err != nil {
			return nil, err
		}
	}
	r.Restricted = r.Restricted || isRestricted(ctx)
	if err := c.resolvePrompt(ctx, &r); err != nil {
		return nil, err
	}
	if err := c.showPrompt(ctx, &r); err != nil {
		return nil, err
	}
	if err := fault.PassPoint(ctx, fault.AdmitBegin); err != nil {
		return nil, err
	}
	// Commit it.
	var in *session.Input
	err := c.withoutHalfRevert(ctx, r.SessionID, func() (err error) {
		in, err = commitAdmission(ctx, c, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := fault.PassPoint(ctx, fault.AdmitPostCommit); err != nil {
		return nil, err
	}
	// Wake the session.
	if r.NoReply && in.PromotedSeq == nil {
		c.scheduler.Wake(r.SessionID, false) // the work that it was admitted beside may have ended
	}
	if !r.Hold {
		// The turn of a prompt that was promoted before may have been cut off with its process.
		c.scheduler.Wake(r.SessionID, in.PromotedSeq != nil)
		if r.Delivery == session.Steer {
			c.scheduler.EndPause(r.SessionID)
		}
	}
	return in, fault.PassPoint(ctx, fault.AdmitPreAck)
}

// commitAdmission commits the prompt. One without a reply joins the history of an idle session in the same transaction.
func commitAdmission(ctx context.Context, c *Commands, r PromptRequest) (in *session.Input, err error) {
	if r.NoReply {
		idle, err := c.scheduler.RunIdle(ctx, r.SessionID, func(ctx context.Context) (err error) {
			in, err = c.commitPrompt(context.WithoutCancel(ctx), r, true)
			return err
		})
		if idle || err != nil {
			return in, err
		}
	}
	return c.commitPrompt(context.WithoutCancel(ctx), r, false)
}

// commitPrompt commits the prompt, or returns the receipt of its first admission. With promote, a prompt without a
// reply joins the history, too; the session must be idle.
func (c *Commands) commitPrompt(ctx context.Context, r PromptRequest, promote bool) (*session.Input, error) {
	var earlier *session.Input
	events, err := c.journal.Log.Append(ctx, r.SessionID, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		// Return the receipt of an earlier admission, or check that the prompt can be admitted.
		earlier = nil
		in, ok, err := store.FindInput(tx, r.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			earlier = in
			return nil, checkSameAdmission(tx, in, r)
		}
		if err := c.withdrawn.check(r.ID); err != nil {
			return nil, err
		}
		if err := c.checkInboxRoom(tx, r.SessionID); err != nil {
			return nil, err
		}
		// Commit a staged revert, then admit the prompt.
		drafts, err := commitReverted(tx, r.SessionID)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, eventlog.Draft{Data: &session.PromptAdmitted{
			MessageID: r.ID, Prompt: r.Prompt, Delivery: r.Delivery, Asks: r.Asks, Hold: r.Hold, NoReply: r.NoReply,
			Recovery: r.Recovery, Restricted: r.Restricted, Original: r.original, Extensions: r.extensions,
		}})
		if promote {
			fact := r.newInput().BuildPromotion()
			fact.NoReply = true
			drafts = append(drafts, eventlog.Draft{Data: fact})
		}
		return drafts, fault.PassPoint(ctx, fault.AdmitPreCommit)
	})
	if err != nil || earlier != nil {
		return earlier, err
	}
	// The receipt has the seqs of the committed events.
	in := r.newInput()
	if promote {
		in.PromotedSeq = &events[len(events)-1].Seq
		events = events[:len(events)-1]
	}
	ev := events[len(events)-1]
	in.AdmittedSeq, in.Order, in.TimeCreated = ev.Seq, ev.Seq, ev.Data.Stamp().Timestamp
	return in, nil
}

// newInput returns the input of the prompt, without what its admission determines.
func (r *PromptRequest) newInput() *session.Input {
	return &session.Input{
		ID: r.ID, SessionID: r.SessionID, Prompt: r.Prompt, Delivery: r.Delivery, Asks: r.Asks, Hold: r.Hold,
		NoReply: r.NoReply, Recovery: r.Recovery, Restricted: r.Restricted,
	}
}
