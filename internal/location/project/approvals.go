package project

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// MoveApprovals moves the saved approvals from before records, which name a root commit, a directory or "global", to the
// record of the only checkout whose sessions have that root commit. All others are dropped and returned: a copy of a
// repository has its root commit, too, and whoever allowed something did not mean the copy.
func (f *Finder) MoveApprovals(ctx context.Context) (dropped []store.Approval, err error) {
	// Read what names no record. Approvals of processes have ended.
	old, err := store.Query(ctx, f.Store, func(r store.Reader) ([]store.Approval, error) { return r.Approvals("") })
	if err != nil {
		return nil, err
	}
	old = slices.DeleteFunc(old, func(a store.Approval) bool {
		return isRecord(a.RecordID) || a.Lifetime == session.LifetimeProcess
	})
	if len(old) == 0 {
		return nil, nil
	}
	// Find the checkouts of their root commits.
	owners, err := f.findOwners(ctx, old)
	if err != nil {
		return nil, err
	}
	// Move or drop them at once.
	err = f.Store.Update(ctx, store.Durable, func(tx store.Tx) error {
		dropped = nil
		for _, a := range old {
			if _, err := tx.DeleteApproval(a.ID); err != nil {
				return err
			}
			owner := owners[session.ProjectID(a.RecordID)]
			if owner == "" {
				dropped = append(dropped, a)
				continue
			}
			a.RecordID = owner
			if err := tx.PutApproval(a); err != nil {
				return err
			}
		}
		return nil
	})
	return dropped, err
}

func isRecord(id session.RecordID) bool {
	return strings.HasPrefix(string(id), string(session.PrefixRecord)+"_")
}

// findOwners returns the record of each root commit that is named by an approval and claimed by the sessions of one
// checkout only, which still has it. A directory that is gone counts as a checkout of its own.
func (f *Finder) findOwners(
	ctx context.Context, old []store.Approval,
) (map[session.ProjectID]session.RecordID, error) {
	claims := map[session.ProjectID]map[string]bool{}
	for _, a := range old {
		claims[session.ProjectID(a.RecordID)] = map[string]bool{}
	}
	err := f.Store.View(ctx, func(r store.Reader) error {
		all, err := store.ReadSessions(r, store.SessionQuery{Archived: true})
		for _, s := range all {
			if dirs := claims[s.ProjectID]; dirs != nil {
				dirs[s.Location.Directory] = true
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	owners := map[session.ProjectID]session.RecordID{}
	for id, dirs := range claims {
		if id == Global {
			continue
		}
		found := map[session.RecordID]bool{}
		for dir := range dirs {
			p, err := f.Find(ctx, dir)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil || p.Root != string(id) {
				p.RecordID = session.RecordID(dir) // none of ours
			}
			found[p.RecordID] = true
		}
		for record := range found {
			if len(found) == 1 && isRecord(record) {
				owners[id] = record
			}
		}
	}
	return owners, nil
}

// Prune deletes the records of directories that do not exist any more, if they have no session, no approval and no name,
// such as those of temporary directories. It returns how many there were.
func (f *Finder) Prune(ctx context.Context) (deleted int, err error) {
	all, err := store.Query(ctx, f.Store, func(r store.Reader) ([]store.Project, error) {
		return r.Projects(store.ProjectQuery{})
	})
	all = slices.DeleteFunc(all, func(p store.Project) bool {
		_, err := os.Stat(p.Path)
		return p.Name != "" || p.Icon != (store.ProjectIcon{}) || !os.IsNotExist(err)
	})
	if err != nil || len(all) == 0 {
		return 0, err
	}
	err = f.Store.Update(ctx, store.Relaxed, func(tx store.Tx) error {
		deleted = 0
		for _, p := range all {
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
