package projection

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// applyMessage updates the messages, the spend of requests without one, and the mark of unfinished work.
func applyMessage(b *Batch, e session.Event) error {
	// An event that begins a message.
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
	// An event of a turn.
	if id := session.ChangedTurn(e.Data); id != "" {
		return foldTurn(b, e, id)
	}
	// Events that change other messages, or cost something without one.
	switch d := e.Data.(type) {
	case *session.MessagesCopied:
		return putCopies(b.tx, e.SessionID, d)
	case *session.ShellEnded:
		sh, ok, err := store.FindShell(b.tx, e.SessionID, d.CallID)
		if err != nil || !ok {
			return err
		}
		sh.Apply(d)
		if err := b.tx.PutMessage(e.SessionID, sh, nil, e.Seq); err != nil {
			return err
		}
		return updateMark(b, e, nil)
	case *session.RevertCommitted:
		if err := cutHistory(b.tx, e, d); err != nil {
			return err
		}
	case *session.MessageRemoved:
		return deleteMessage(b.tx, e.SessionID, d.MessageID)
	case *session.MessageEdited:
		return editPrompt(b.tx, e, d.MessageID)
	case *session.DiffUpdated:
		return editPrompt(b.tx, e, d.MessageID)
	case *session.CompactionFailed:
		if err := addRequestSpend(b.tx, e, d.Request); err != nil {
			return err
		}
	case *session.CompactionUndone:
		return deleteMessage(b.tx, e.SessionID, d.MessageID)
	case *session.Renamed:
		return addRequestSpend(b.tx, e, d.Request)
	case *session.Summarized:
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
		return b.tx.PutMessage(e.SessionID, m, nil, e.Seq)
	}
	b.turn = &cachedTurn{session: e.SessionID, message: a, through: e.Seq, changed: true}
	return nil
}

// putCopies stores the messages of a fork.
func putCopies(tx store.Tx, id session.ID, d *session.MessagesCopied) error {
	ms, stored, err := d.DecodeCopies()
	if err != nil {
		return err
	}
	for i, m := range ms {
		var raw jsontext.Value
		if stored != nil {
			raw = stored[i]
		}
		if err := tx.PutMessage(id, m, raw, m.Meta().Seq); err != nil {
			return err
		}
	}
	return nil
}

// foldTurn applies the event to its turn. A checkpoint of a turn that is not held changes no row: its event is
// enough, and rewriting the whole text for each checkpoint would take quadratic time.
func foldTurn(b *Batch, e session.Event, id session.MessageID) error {
	if _, ok := e.Data.(*session.ItemCheckpointed); ok && b.turn == nil {
		return nil
	}
	if err := b.loadTurn(e.SessionID, id); err != nil || b.turn == nil {
		return err
	}
	b.turn.through = e.Seq
	a := b.turn.message
	if !a.Apply(e.Data) {
		return nil
	}
	b.turn.changed = true
	if err := addSpend(b.tx, e, a); err != nil {
		return err
	}
	return updateMark(b, e, a)
}

// addSpend writes the spend of a turn that ended with its usage, which may be zero.
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

// addRequestSpend writes the spend of a request without a message; nil used nothing.
func addRequestSpend(tx store.Tx, e session.Event, used *session.RequestCost) error {
	if used == nil {
		return nil
	}
	return tx.AddSpend(store.Spend{
		SessionID: e.SessionID, Seq: e.Seq, Time: e.Data.Stamp().Timestamp, Model: used.Model,
		Cost: used.Cost, Tokens: used.Tokens,
	})
}

// editPrompt applies the event to a prompt of the history.
func editPrompt(tx store.Tx, e session.Event, prompt session.MessageID) error {
	m, _, err := store.FindMessage(tx, e.SessionID, prompt)
	if u, ok := m.(*session.User); ok && err == nil && u.Apply(e.Data) {
		return tx.PutMessage(e.SessionID, u, nil, e.Seq)
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

// cutHistory removes the messages of a committed revert. The next turn begins a new context epoch, because
// messages with changes of the context may be among them.
func cutHistory(tx store.Tx, e session.Event, d *session.RevertCommitted) error {
	id := e.SessionID
	m, ok, err := store.FindMessage(tx, id, d.MessageID)
	if err != nil || !ok || d.FilesOnly {
		return err
	}
	after := m.Meta().Seq
	if u, ok := m.(*session.User); d.Exclusive {
		after--
	} else if ok && len(u.Diffs) > 0 { // its answers go
		u.Diffs = nil
		if err := tx.PutMessage(id, u, nil, e.Seq); err != nil {
			return err
		}
	}
	if err := tx.DeleteMessages(id, after, 0); err != nil {
		return err
	}
	return tx.PutEpoch(id, nil)
}
