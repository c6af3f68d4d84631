package projection

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// ErrEpoch means that the context epoch changed since it was read: the turn must observe its sources again.
var ErrEpoch = fmt.Errorf("the context epoch was changed concurrently")

// applyEpoch begins, advances or ends the context epoch by compare and set of its revision (EP-1, EP-4). A baseline
// covers everything before its event.
func applyEpoch(tx store.Tx, e session.Event) error {
	if e.EndsEpoch() {
		return tx.PutEpoch(e.SessionID, nil)
	}
	if e.Private == nil || e.Private.Epoch == nil {
		return nil
	}
	// Compare: the change must follow the epoch that its writer saw.
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
	// Set: a change without a baseline only replaces the snapshot.
	next := store.Epoch{
		Baseline: cur.Baseline, BaselineSeq: cur.BaselineSeq, Snapshot: change.Snapshot, Revision: change.Revision,
	}
	if change.Baseline != nil {
		next.Baseline, next.BaselineSeq = *change.Baseline, e.Seq-1
		if change.Since != nil {
			next.BaselineSeq = *change.Since
		}
	}
	return tx.PutEpoch(e.SessionID, &next)
}
