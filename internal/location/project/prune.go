package project

import (
	"context"
	"os"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// Prune deletes the records of directories that do not exist any more, such as temporary ones, if they have no session, no
// approval and nothing that a user gave them. It returns how many there were.
func (f *Finder) Prune(ctx context.Context) (deleted int, err error) {
	// Look for the directories before the transaction.
	all, err := store.Query(ctx, f.Store, func(r store.Reader) ([]store.Project, error) {
		return r.Projects(store.ProjectQuery{})
	})
	all = slices.DeleteFunc(all, func(p store.Project) bool {
		_, err := os.Stat(p.Path)
		return hasUserData(p) || !os.IsNotExist(err)
	})
	if err != nil || len(all) == 0 {
		return 0, err
	}
	// Delete those that have nothing, also not since then.
	err = f.Store.Update(ctx, store.Relaxed, func(tx store.Tx) error {
		deleted = 0
		for _, p := range all {
			now, err := tx.Projects(store.ProjectQuery{ID: p.ID})
			if err != nil {
				return err
			}
			if len(now) == 0 || now[0].Path != p.Path || hasUserData(now[0]) {
				continue
			}
			rows, err := tx.RawSessions(store.SessionQuery{RecordID: p.ID, Archived: true, Limit: 1})
			if err != nil {
				return err
			}
			approvals, err := tx.Approvals(p.ID)
			if err != nil {
				return err
			}
			if len(rows) > 0 || len(approvals) > 0 {
				continue
			}
			if _, err := tx.DeleteProject(p.ID, ""); err != nil {
				return err
			}
			deleted++
		}
		return nil
	})
	return deleted, err
}
