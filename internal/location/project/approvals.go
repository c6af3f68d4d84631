package project

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// DroppedApproval is a saved approval of an earlier version that belongs to no record.
type DroppedApproval struct {
	store.Approval
	Directories []string // of the sessions of its project, sorted
}

// DescribePlace says for people where the approval held.
func (d DroppedApproval) DescribePlace() string {
	dir, isDirectory := strings.CutPrefix(string(d.RecordID), "directory:")
	const most = 3
	switch n := len(d.Directories); {
	case isDirectory:
		return dir
	case d.RecordID == session.RecordID(Global):
		return "all directories outside of git"
	case n == 0:
		return "the repository with the root commit " + string(d.RecordID)
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(d.Directories[:most], ", "), n-most)
	default:
		return strings.Join(d.Directories, ", ")
	}
}

// MoveApprovals moves the saved approvals from before records, which name a root commit, a directory or "global", to the
// record of the only checkout whose sessions have that root commit. All others are dropped and returned: a copy of a
// repository has its root commit, too, and a permission was not meant for the copy (PR-7).
func (f *Finder) MoveApprovals(ctx context.Context) (dropped []DroppedApproval, err error) {
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
	claims, err := f.readClaims(ctx, old)
	if err != nil {
		return nil, err
	}
	owners, err := f.findOwners(ctx, claims)
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
				dirs := slices.Sorted(maps.Keys(claims[session.ProjectID(a.RecordID)]))
				dropped = append(dropped, DroppedApproval{a, dirs})
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

// claims are the directories of the sessions of each project, by what OpenCode calls it.
type claims map[session.ProjectID]map[string]bool

// readClaims returns the claims of the projects that approvals name.
func (f *Finder) readClaims(ctx context.Context, old []store.Approval) (claims, error) {
	out := claims{}
	for _, a := range old {
		out[session.ProjectID(a.RecordID)] = map[string]bool{}
	}
	err := f.Store.View(ctx, func(r store.Reader) error {
		all, err := store.ReadSessions(r, store.SessionQuery{Archived: true})
		for _, s := range all {
			if dirs := out[s.ProjectID]; dirs != nil {
				dirs[s.Location.Directory] = true
			}
		}
		return err
	})
	return out, err
}

// findOwners returns the record of each root commit that is claimed by the sessions of one checkout only, which still has
// it. A directory that is gone counts as a checkout of its own.
func (f *Finder) findOwners(ctx context.Context, all claims) (map[session.ProjectID]session.RecordID, error) {
	owners := map[session.ProjectID]session.RecordID{}
	for id, dirs := range all {
		if id == Global {
			continue
		}
		// Find the records of the directories. One that is not of this repository stands for itself.
		found := map[session.RecordID]bool{}
		for dir := range dirs {
			p, err := f.Find(ctx, dir)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil || p.Root != string(id) {
				p.RecordID = session.RecordID(dir)
			}
			found[p.RecordID] = true
		}
		// Only one record may be left.
		for record := range found {
			if len(found) == 1 && isRecord(record) {
				owners[id] = record
			}
		}
	}
	return owners, nil
}
