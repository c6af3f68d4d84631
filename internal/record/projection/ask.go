package projection

import (
	"cmp"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// applyAsk stores an ask, and its one reply.
func applyAsk(tx store.Tx, e session.Event) error {
	switch d := e.Data.(type) {
	case *session.PermissionAsked:
		row := &store.AskRow{PendingAsk: d.Ask, Seq: e.Seq}
		row.SessionID, row.Time = e.SessionID, d.Timestamp
		if _, ok, err := store.FindAsk(tx, row.ID); err != nil || ok {
			return cmp.Or[error](err, session.Conflict("permission", string(row.ID), "exists already"))
		}
		return tx.PutAsk(row)
	case *session.PermissionReplied:
		row, ok, err := store.FindAsk(tx, d.AskID)
		if err != nil {
			return err
		}
		if !ok || row.SessionID != e.SessionID {
			return session.NotFound("permission", string(d.AskID))
		}
		if row.Reply != "" {
			return session.Conflict("permission", string(d.AskID), "is already answered")
		}
		row.Reply, row.Message, row.By, row.Answers = d.Reply, d.Message, d.By, d.Answers
		return tx.PutAsk(row)
	default:
		return nil
	}
}
