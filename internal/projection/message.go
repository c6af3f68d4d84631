package projection

import (
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func applyMessage(b *Batch, e session.Event) error {
	if m := session.Begin(e.Data, e.Seq); m != nil {
		if err := beginMessage(b, e, m); err != nil {
			return err
		}
		if c, ok := m.(*session.Compaction); ok {
			if err := addRequestSpend(b.tx, e, c.Request); err != nil {
				return err
			}
		}
		return updateMark(b, e, nil)
	}
	if id := session.ChangedTurn(e.Data); id != "" {
		return foldTurn(b, e, id)
	}
	switch d := e.Data.(type) {
	case *session.ShellEnded:
		sh, ok, err := store.FindShell(b.tx, e.SessionID, d.CallID)
		if err != nil || !ok {
			return err
		}
		sh.Output, sh.Time.Completed = d.Output, d.Timestamp
		if err := b.tx.PutMessage(e.SessionID, sh, e.Seq); err != nil {
			return err
		}
		return updateMark(b, e, nil)
	case *session.RevertCommitted:
		return cutHistory(b.tx, e.SessionID, d.MessageID)
	case *session.MessageRemoved:
		return deleteMessage(b.tx, e.SessionID, d.MessageID)
	case *session.MessageEdited:
		return editMessage(b.tx, e, d)
	case *session.CompactionFailed:
		if err := addRequestSpend(b.tx, e, d.Request); err != nil {
			return err
		}
	case *session.CompactionUndone:
		return deleteMessage(b.tx, e.SessionID, d.MessageID)
	case *session.Renamed:
		return addRequestSpend(b.tx, e, d.Request)
	case *session.Retried:
		return addRequestSpend(b.tx, e, d.Request)
	}
	return updateMark(b, e, nil)
}

// beginMessage stores a new message. A new turn is held until Flush.
func beginMessage(b *Batch, e session.Event, m session.Message) error {
	a, isTurn := m.(*session.Assistant)
	if !isTurn {
		return b.tx.PutMessage(e.SessionID, m, e.Seq)
	}
	b.held = &heldTurn{session: e.SessionID, message: a, through: e.Seq, changed: true}
	return nil
}

// foldTurn applies the event to its turn. A checkpoint of a turn that is not held changes no row: its event is
// enough, and rewriting the whole text for each checkpoint would take quadratic time.
func foldTurn(b *Batch, e session.Event, id session.MessageID) error {
	if _, ok := e.Data.(*session.ItemCheckpointed); ok && b.held == nil {
		return nil
	}
	if err := b.loadTurn(e.SessionID, id); err != nil || b.held == nil {
		return err
	}
	b.held.through = e.Seq
	a := b.held.message
	if !a.Apply(e.Data) {
		return nil
	}
	b.held.changed = true
	if err := addSpend(b.tx, e, a); err != nil {
		return err
	}
	return updateMark(b, e, a)
}

// addSpend writes the ledger line of a turn that ended with its usage, which may be zero.
func addSpend(tx store.Tx, e session.Event, a *session.Assistant) error {
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

// addRequestSpend writes the ledger line of a request without a message; nil used nothing.
func addRequestSpend(tx store.Tx, e session.Event, used *session.Asked) error {
	if used == nil {
		return nil
	}
	return tx.AddSpend(store.Spend{
		SessionID: e.SessionID, Seq: e.Seq, Time: e.Data.Stamp().Timestamp, Model: used.Model,
		Cost: used.Cost, Tokens: used.Tokens,
	})
}

// editMessage rewrites a prompt of the history.
func editMessage(tx store.Tx, e session.Event, d *session.MessageEdited) error {
	m, _, err := store.FindMessage(tx, e.SessionID, d.MessageID)
	if u, ok := m.(*session.User); ok && err == nil && u.Apply(d) {
		return tx.PutMessage(e.SessionID, u, e.Seq)
	}
	return err
}

func deleteMessage(tx store.Tx, id session.ID, m session.MessageID) error {
	found, ok, err := store.FindMessage(tx, id, m)
	if err != nil || !ok {
		return err
	}
	seq := found.Meta().Seq
	return tx.DeleteMessages(id, seq-1, seq+1)
}

// cutHistory removes what follows the boundary message of a committed revert: messages, and prompts admitted after
// it.
func cutHistory(tx store.Tx, id session.ID, boundary session.MessageID) error {
	m, ok, err := store.FindMessage(tx, id, boundary)
	if err != nil || !ok {
		return err
	}
	seq := m.Meta().Seq
	pending, err := store.PendingInputs(tx, id, "", 0)
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
	if err := tx.DeleteMessages(id, seq, 0); err != nil {
		return err
	}
	return tx.PutEpoch(id, nil)
}
