package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// PromptRequest asks to admit a prompt.
type PromptRequest struct {
	SessionID session.ID
	ID        session.MessageID // the caller's idempotency key; "" makes one
	Prompt    session.Prompt
	Delivery  session.Delivery // "" is steer
	Hold      bool             // admit only: start no work (resume=false)
	Asks      session.AskPolicy
	Named     bool   // the prompt says by whom it is to be answered, also where the caller left that open
	Variant   string // with Named: of the model that answers, whoever chose it; "" leaves that of an agent or a named model
}

// Prompt admits a prompt and wakes the session. When it returns without error the prompt is durable. The same id with
// the same content gives the same receipt, and another wake, so that a lost one is repaired; the same id with other
// content is a conflict (spec/v2 AD-2 to AD-6). Once begun it is not cancelled by ctx.
func (e *Engine) Prompt(ctx context.Context, r PromptRequest) (*session.Input, error) {
	if err := e.accepting(); err != nil {
		return nil, err
	}
	if err := e.check(&r); err != nil {
		return nil, err
	}
	if err := e.chosen(ctx, &r); err != nil {
		return nil, err
	}
	if err := e.checkPresent(ctx, r); err != nil {
		return nil, err
	}
	if err := fault.Point(ctx, fault.AdmitBegin); err != nil {
		return nil, err
	}
	in, err := e.admit(context.WithoutCancel(ctx), r)
	if err != nil {
		return nil, err
	}
	if err := fault.Point(ctx, fault.AdmitPostCommit); err != nil {
		return nil, err
	}
	if !r.Hold {
		// One that was promoted before may have been cut off with its process: sending it again goes on with it.
		again := unforced
		if in.PromotedSeq != nil {
			again = restarted
		}
		e.coordinator.wake(r.SessionID, again)
		if r.Delivery == session.Steer {
			e.pauses.cut(r.SessionID)
		}
	}
	return in, fault.Point(ctx, fault.AdmitPreAck)
}

// check completes and validates the request, before anything is written.
func (e *Engine) check(r *PromptRequest) error {
	if r.ID == "" {
		r.ID = e.messageID()
	} else if err := session.CheckID("id", session.PrefixMessage, string(r.ID)); err != nil {
		return err
	}
	switch r.Delivery {
	case "":
		r.Delivery = session.Steer
	case session.Steer, session.Queue:
	default:
		return session.Errorf(session.CodeInvalid, "delivery must be %q or %q, got %q", session.Steer, session.Queue, r.Delivery).At("delivery")
	}
	if _, err := ask.ParsePolicy(r.Asks); err != nil {
		return err
	}
	if r.Prompt.Empty() || (strings.TrimSpace(r.Prompt.Text) == "" && len(r.Prompt.Files) == 0 && len(r.Prompt.Agents) == 0) {
		return session.Errorf(session.CodeInvalid, "the prompt is empty: it needs text, a file or an agent").At("prompt.text")
	}
	r.Prompt.Text = strings.ToValidUTF8(r.Prompt.Text, "\uFFFD")
	r.Prompt.Files = slices.Clone(r.Prompt.Files) // the caller's stay as they are
	if err := e.limits.checkFiles(r.Prompt); err != nil {
		return err
	}
	if err := r.Prompt.CheckParts("prompt"); err != nil {
		return err
	}
	if err := history.CheckFormat(r.Prompt.Format); err != nil {
		return err
	}
	if _, err := json.Marshal(r.Prompt); err != nil { // what cannot be stored is not admitted
		return session.Errorf(session.CodeInvalid, "the prompt holds text that is not valid UTF-8").At("prompt").Because(err)
	}
	return nil
}

// admit commits the prompt, or finds that it was committed before.
func (e *Engine) admit(ctx context.Context, r PromptRequest) (*session.Input, error) {
	var before *session.Input
	events, err := e.log.Append(ctx, r.SessionID, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		before = nil
		if _, err := journal.FindSession(tx, r.SessionID); err != nil {
			return nil, err
		}
		in, ok, err := store.FindInput(tx, r.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			before = in
			return nil, sameAdmission(in, r)
		}
		if pending, err := store.PendingInputs(tx, r.SessionID, "", 0); err != nil || len(pending) >= e.limits.Pending {
			return nil, firstError(err, session.Errorf(session.CodeTooMany,
				"the session has %d prompts waiting already; the limit is %d", len(pending), e.limits.Pending))
		}
		return eventlog.Drafts(&session.PromptAdmitted{
			MessageID: r.ID, Prompt: r.Prompt, Delivery: r.Delivery, Asks: r.Asks, Hold: r.Hold,
		}), fault.Point(ctx, fault.AdmitPreCommit)
	})
	if err != nil || before != nil {
		return before, err
	}
	ev := events[0]
	return &session.Input{
		AdmittedSeq: ev.Seq, ID: r.ID, SessionID: r.SessionID, Prompt: r.Prompt, Delivery: r.Delivery,
		TimeCreated: ev.Data.Stamp().Timestamp, Order: ev.Seq, Asks: r.Asks, Hold: r.Hold,
	}, nil
}

// sameAdmission is nil if the request says exactly what was admitted under its id.
func sameAdmission(in *session.Input, r PromptRequest) error {
	a, errA := json.Marshal(in.Prompt, json.Deterministic(true))
	b, errB := json.Marshal(r.Prompt, json.Deterministic(true))
	if errA != nil || errB != nil {
		return firstError(errA, errB)
	}
	if in.SessionID != r.SessionID || in.Delivery != r.Delivery || string(a) != string(b) {
		return session.Conflict("message", string(r.ID), "was used for another prompt; use a new id for a new prompt")
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
