package undo

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxOthers bounds the sessions in which the author of a file is searched.
const maxOthers = 50

// attributeConflicts names in the reason of each conflict the session of the project whose newest change made the
// present state of the file, if there is one among the newest maxOthers.
func attributeConflicts(ctx context.Context, j *turnlog.Journal, id session.ID, out *session.Revert) error {
	if !slices.ContainsFunc(out.Kept, func(f session.KeptFile) bool { return f.Reason == reasonChanged }) {
		return nil
	}
	// Read the sessions that may have changed the files.
	var others []*session.Session
	err := j.Store.View(ctx, func(rd store.Reader) error {
		s, err := store.FindSession(rd, id)
		if err != nil {
			return err
		}
		q := store.SessionQuery{RecordID: s.RecordID, Archived: true, Limit: maxOthers}
		if q.RecordID == "" {
			q.ProjectID = s.ProjectID
		}
		others, err = store.ReadSessions(rd, q)
		return err
	})
	if err != nil {
		return err
	}
	// Ask the ledger of each whether the present state is its work.
	for _, other := range others {
		if other.ID == id || other.Changes == nil || other.Changes.Files == 0 {
			continue
		}
		l, err := ReadLedger(ctx, j.Store, other.ID)
		if err != nil {
			return err
		}
		for i := range out.Kept {
			f := &out.Kept[i]
			if f.Reason == reasonChanged && l.IsLastState(f.Path, f.State) {
				f.Reason = fmt.Sprintf("the session %s (%s) changed it later", other.ID, other.Title)
			}
		}
	}
	return nil
}
