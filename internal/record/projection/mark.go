package projection

import (
	"cmp"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// updateMark does to the mark of unfinished sessions what the event says (session.MarkAfter). a is the event's turn
// with the event applied to it, nil if the event has none.
func updateMark(b *Batch, e session.Event, a *session.Assistant) error {
	mark := session.MarkAfter(e.Data, a)
	switch mark {
	case session.MarkKept:
		return nil
	case session.MarkSet:
		return b.tx.SetUnfinished(e.SessionID, true)
	default:
		return clearMark(b, e.SessionID, mark)
	}
}

// clearMark clears the mark unless something that the mark names is left to do. What needs no row to be read comes
// first.
func clearMark(b *Batch, id session.ID, unless session.Mark) error {
	if unless == session.MarkUnlessTurn {
		if needed, err := needsTurn(b.tx, id); err != nil || needed {
			return err
		}
	}
	if unless != session.MarkUnlessJob {
		pending, err := store.PendingInputs(b.tx, id, "", 0)
		if err != nil || slices.ContainsFunc(pending, (*session.Input).StartsWork) {
			return err
		}
	}
	s, err := b.loadSession(id)
	if err != nil || s == nil || s.RunningJobs() {
		return err
	}
	return b.tx.SetUnfinished(id, false)
}

// needsTurn reports whether the newest prompt and the newest turn of the history call for another turn.
func needsTurn(tx store.Tx, id session.ID) (bool, error) {
	var newest []session.Message
	for _, t := range []session.MessageType{session.TypeUser, session.TypeAssistant} {
		m, ok, err := store.NewestMessage(tx, id, t)
		if err != nil {
			return false, err
		}
		if ok {
			newest = append(newest, m)
		}
	}
	slices.SortFunc(newest, func(a, b session.Message) int { return cmp.Compare(a.Meta().Seq, b.Meta().Seq) })
	return session.NextOf(newest).NeedsTurn(), nil
}
