package projection

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// applyInbox updates the rows of the prompts and requests that wait. Other events change nothing.
func applyInbox(tx store.Tx, e session.Event) error {
	switch d := e.Data.(type) {
	// Into the inbox, and out of it.
	case *session.PromptAdmitted:
		return insertAdmitted(tx, e, d)
	case *session.Prompted:
		return promoteInput(tx, e, d)
	case *session.CompactionAdmitted:
		if err := checkFreeID(tx, d.MessageID); err != nil {
			return err
		}
		return tx.PutInput(&session.Input{
			AdmittedSeq: e.Seq, ID: d.MessageID, SessionID: e.SessionID, Delivery: d.Delivery, TimeCreated: d.Timestamp,
			Order: e.Seq, Compaction: &d.Request, Restricted: d.Restricted,
		})
	case *session.CompactionStarted:
		return takeRequest(tx, e, d.RequestID)
	case *session.InputWithdrawn:
		if _, err := pendingInput(tx, e.SessionID, d.MessageID); err != nil {
			return err
		}
		if err := tx.DeleteInput(d.MessageID); err != nil {
			return err
		}
		return nil
	// Changes of what waits.
	case *session.InputEdited:
		return editInput(tx, e.SessionID, d)
	case *session.InputRedirected:
		return changeInput(tx, e.SessionID, d.MessageID, func(in *session.Input) { in.Delivery = d.Delivery })
	case *session.InputReordered:
		return reorderInputs(tx, e.SessionID, d.MessageIDs)
	default:
		return nil
	}
}

// insertAdmitted inserts the prompt. An id of another prompt or message is a conflict.
func insertAdmitted(tx store.Tx, e session.Event, d *session.PromptAdmitted) error {
	if err := checkFreeID(tx, d.MessageID); err != nil {
		return err
	}
	return tx.PutInput(&session.Input{
		AdmittedSeq: e.Seq, ID: d.MessageID, SessionID: e.SessionID, Prompt: d.Prompt, Delivery: d.Delivery,
		TimeCreated: d.Timestamp, Order: e.Seq, Asks: d.Asks, Hold: d.Hold,
		NoReply: d.NoReply, Recovery: d.Recovery, Restricted: d.Restricted, Extensions: d.Extensions,
	})
}

// checkFreeID returns an error if any prompt or message of any session has the id: a prompt that cannot become a
// message would block its session for ever.
func checkFreeID(tx store.Tx, m session.MessageID) error {
	if _, ok, err := store.FindInput(tx, m); err != nil || ok {
		return cmp.Or[error](err, session.Conflict("message", string(m), "is already used by another prompt"))
	}
	if owner, _, err := tx.Message(m); err != nil || owner != "" {
		return cmp.Or[error](err, session.Conflict("message", string(m), "is already used by another message"))
	}
	return nil
}

// promoteInput marks the prompt as promoted. A prompt that was never admitted is admitted by the same event.
func promoteInput(tx store.Tx, e session.Event, d *session.Prompted) error {
	in, ok, err := store.FindInput(tx, d.MessageID)
	if err != nil {
		return err
	}
	seq := e.Seq
	if !ok {
		return tx.PutInput(&session.Input{
			AdmittedSeq: seq, PromotedSeq: &seq, ID: d.MessageID, SessionID: e.SessionID, Prompt: d.Prompt,
			Delivery: d.Delivery, TimeCreated: d.Timestamp, Order: seq, Asks: d.Asks,
			Recovery: d.Recovery, Restricted: d.Restricted,
		})
	}
	if in.PromotedSeq != nil || in.SessionID != e.SessionID || in.Delivery != d.Delivery || !samePrompt(
		in.Prompt, d.Prompt,
	) {
		return session.Conflict("message", string(d.MessageID), "was promoted already or has other content")
	}
	in.PromotedSeq, in.Restricted = &seq, in.Restricted || d.Restricted
	return tx.PutInput(in)
}

// takeRequest takes the request for a compaction out of the inbox. A compaction that begins by itself has none.
func takeRequest(tx store.Tx, e session.Event, request session.MessageID) error {
	in, ok, err := store.FindInput(tx, request)
	if err != nil || !ok {
		return err
	}
	if in.PromotedSeq != nil || in.SessionID != e.SessionID || in.Compaction == nil {
		return session.Conflict("message", string(request), "is not a pending request for a compaction")
	}
	seq := e.Seq
	in.PromotedSeq = &seq
	return tx.PutInput(in)
}

func changeInput(tx store.Tx, id session.ID, m session.MessageID, f func(*session.Input)) error {
	in, err := pendingInput(tx, id, m)
	if err != nil {
		return err
	}
	f(in)
	return tx.PutInput(in)
}

func editInput(tx store.Tx, id session.ID, d *session.InputEdited) error {
	in, err := pendingInput(tx, id, d.MessageID)
	if err != nil {
		return err
	}
	if in.Compaction != nil {
		return session.Conflict("message", string(d.MessageID), "is a request for a compaction, which has no text to edit")
	}
	in.Prompt, in.Restricted, in.Extensions = d.Prompt, in.Restricted || d.Restricted, nil
	return tx.PutInput(in)
}

func pendingInput(tx store.Tx, id session.ID, m session.MessageID) (*session.Input, error) {
	in, ok, err := store.FindInput(tx, m)
	switch {
	case err != nil:
		return nil, err
	case !ok || in.SessionID != id:
		return nil, session.NotFound("prompt", string(m))
	case in.PromotedSeq != nil:
		return nil, session.Conflict("prompt", string(m), "is already promoted and can no longer be changed")
	default:
		return in, nil
	}
}

// reorderInputs gives the ranks of the pending prompts to the ids in their new order. The list must name exactly
// the pending prompts.
func reorderInputs(tx store.Tx, id session.ID, order []session.MessageID) error {
	pending, err := store.PendingInputs(tx, id, "", 0)
	if err != nil {
		return err
	}
	wrong := session.Errorf(
		session.CodeConflict, "the new order must name each of the %d pending prompts once", len(pending),
	).At("messageIDs")
	if len(order) != len(pending) {
		return wrong
	}
	// Give out the same ranks again, so that prompts admitted later stay behind.
	byID := map[session.MessageID]*session.Input{}
	ranks := make([]int64, 0, len(pending))
	for _, in := range pending {
		byID[in.ID] = in
		ranks = append(ranks, in.Order)
	}
	slices.Sort(ranks)
	for i, m := range order {
		in := byID[m]
		if in == nil {
			return wrong
		}
		delete(byID, m)
		in.Order = ranks[i]
		if err := tx.PutInput(in); err != nil {
			return err
		}
	}
	return nil
}

func samePrompt(a, b session.Prompt) bool {
	x, errX := json.Marshal(a, json.Deterministic(true))
	y, errY := json.Marshal(b, json.Deterministic(true))
	return errX == nil && errY == nil && string(x) == string(y)
}
