package revert

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/changes"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// maxOthers bounds the sessions that are searched for the author of a file.
const maxOthers = 50

// attributeConflicts names the session that left a file of a conflict as it is now, if one of the project did.
func attributeConflicts(ctx context.Context, j *journal.Journal, id session.ID, out *session.Revert) error {
	if !slices.ContainsFunc(out.Kept, func(f session.KeptFile) bool { return f.Reason == reasonChanged }) {
		return nil
	}
	var others []*session.Session
	err := j.Store.View(ctx, func(rd store.Reader) error {
		s, err := store.FindSession(rd, id)
		if err != nil {
			return err
		}
		others, err = store.ReadSessions(
			rd,
			store.SessionQuery{ProjectID: s.ProjectID, Archived: true, Limit: maxOthers},
		)
		return err
	})
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.ID == id || other.Changes == nil || other.Changes.Files == 0 {
			continue
		}
		l, err := changes.ReadLedger(ctx, j.Store, other.ID, -1)
		if err != nil {
			return err
		}
		for i := range out.Kept {
			f := &out.Kept[i]
			if f.Reason == reasonChanged && l.IsLastState(f.Path, f.State) {
				f.Reason = "the session " + string(other.ID) + " changed it later: " + other.Title
			}
		}
	}
	return nil
}
