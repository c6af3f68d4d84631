package projection

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// ErrEpoch says that the context epoch changed since it was read: the turn must observe its sources again.
var ErrEpoch = fmt.Errorf("the context epoch was changed by somebody else")

// applyEpoch begins, advances or ends the context epoch with the event that says so, by compare and set (EP-1, EP-4).
// The baseline covers everything before the event.
func applyEpoch(tx store.Tx, e session.Event) error {
	if _, moved := e.Data.(*session.Moved); moved {
		return tx.DeleteEpoch(e.SessionID)
	}
	if e.Private == nil || e.Private.Epoch == nil {
		return nil
	}
	change := e.Private.Epoch
	cur, ok, err := tx.Epoch(e.SessionID)
	if err != nil {
		return err
	}
	if !ok {
		cur = &store.Epoch{}
		if change.Baseline == nil {
			return ErrEpoch
		}
	}
	if change.Revision != cur.Revision+1 {
		return ErrEpoch
	}
	next := store.Epoch{Baseline: cur.Baseline, BaselineSeq: cur.BaselineSeq, Snapshot: change.Snapshot, Revision: change.Revision}
	if change.Baseline != nil {
		next.Baseline, next.BaselineSeq = *change.Baseline, e.Seq-1
	}
	return tx.PutEpoch(e.SessionID, next)
}

// applyAsk keeps asks and their one reply.
func applyAsk(tx store.Tx, e session.Event) error {
	switch d := e.Data.(type) {
	case *session.PermissionAsked:
		row := &store.AskRow{PendingAsk: d.Ask, Seq: e.Seq}
		row.SessionID, row.Time = e.SessionID, d.Timestamp
		if _, ok, err := tx.Ask(row.ID); err != nil || ok {
			return firstErr(err, session.Conflict("permission", string(row.ID), "exists already"))
		}
		return tx.PutAsk(row)
	case *session.PermissionReplied:
		row, ok, err := tx.Ask(d.AskID)
		if err != nil {
			return err
		}
		if !ok || row.SessionID != e.SessionID {
			return session.NotFound("permission", string(d.AskID))
		}
		if row.Reply != "" {
			return session.Conflict("permission", string(d.AskID), "is already answered")
		}
		row.Reply, row.Message, row.By = d.Reply, d.Message, d.By
		return tx.PutAsk(row)
	default:
		return nil
	}
}
