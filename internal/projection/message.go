package projection

import (
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func applyMessage(tx store.Tx, e session.Event) error {
	if m := session.Begin(e.Data, e.Seq); m != nil {
		if err := tx.PutMessage(e.SessionID, m); err != nil {
			return err
		}
		return mark(tx, e, nil)
	}
	if id := session.Turn(e.Data); id != "" {
		return fold(tx, e, id)
	}
	switch d := e.Data.(type) {
	case *session.ShellEnded:
		sh, ok, err := tx.ShellByCall(e.SessionID, d.CallID)
		if err != nil || !ok {
			return err
		}
		sh.Output, sh.Time.Completed = d.Output, d.Timestamp
		return tx.PutMessage(e.SessionID, sh)
	case *session.RevertCommitted:
		return cut(tx, e.SessionID, d.MessageID)
	}
	return mark(tx, e, nil)
}

func fold(tx store.Tx, e session.Event, id session.MessageID) error {
	m, ok, err := tx.Message(e.SessionID, id)
	if err != nil {
		return err
	}
	a, isTurn := m.(*session.Assistant)
	if !ok || !isTurn || !a.Apply(e.Data) {
		return nil
	}
	if err := tx.PutMessage(e.SessionID, a); err != nil {
		return err
	}
	if err := spend(tx, e, a); err != nil {
		return err
	}
	return mark(tx, e, a)
}

// spend writes the ledger line of a turn that says what it used, nothing too.
func spend(tx store.Tx, e session.Event, a *session.Assistant) error {
	line := store.Spend{SessionID: e.SessionID, Seq: e.Seq, Time: e.Data.Stamp().Timestamp, Model: a.Model}
	switch d := e.Data.(type) {
	case *session.StepEnded:
		line.Cost, line.Tokens = d.Cost, d.Tokens
	case *session.StepFailed:
		if d.Tokens == nil {
			return nil
		}
		line.Cost, line.Tokens = d.Cost, *d.Tokens
	default:
		return nil
	}
	return tx.AddSpend(line)
}

// cut removes what follows the boundary message of a committed revert: messages, and prompts admitted after it.
func cut(tx store.Tx, id session.ID, boundary session.MessageID) error {
	m, ok, err := tx.Message(id, boundary)
	if err != nil || !ok {
		return err
	}
	seq := m.Meta().Seq
	pending, err := tx.Pending(id, "", 0)
	if err != nil {
		return err
	}
	for _, in := range pending {
		if in.AdmittedSeq > seq {
			if err := tx.DeleteInput(in.ID); err != nil {
				return err
			}
		}
	}
	if err := tx.DeleteMessages(id, seq); err != nil {
		return err
	}
	return tx.DeleteEpoch(id)
}
