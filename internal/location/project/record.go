package project

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// findRecord returns the record of what is on disk. With write set it stores a record that is new or has changed. If it
// cannot be stored the id of a new one is "".
func (f *Finder) findRecord(ctx context.Context, now *diskState, write bool) (store.Project, error) {
	if f.Store == nil {
		return match(now, nil), nil
	}
	// Most often the record is known and as it was.
	query := now.query()
	known, err := store.Query(ctx, f.Store, func(r store.Reader) ([]store.Project, error) { return r.Projects(query) })
	if err != nil {
		return store.Project{}, err
	}
	p := match(now, known)
	if isStored(p, known) || !write || ctx.Err() != nil {
		return p, nil
	}
	// Decide again in the transaction: another directory of the repository may have been opened meanwhile.
	now.observeWorktrees()
	found, changed := p, false
	var dropped []store.Approval
	err = f.update(ctx, now, store.Relaxed, func(tx store.Tx) error {
		changed, dropped = false, nil
		known, err := tx.Projects(query)
		if err != nil {
			return err
		}
		p = match(now, known)
		if isStored(p, known) {
			return nil
		}
		p.Updated = time.Now().UnixMilli()
		if changed = p.ID != ""; !changed {
			p.ID, p.Created = session.RecordID(f.IDs.New(session.PrefixRecord)), p.Updated
		}
		if slices.ContainsFunc(known, func(k store.Project) bool { return k.ID == p.ID && isOfOtherFile(&k, &p) }) {
			if dropped, err = deleteApprovals(tx, p.ID); err != nil {
				return err
			}
		}
		return putRecord(tx, p, now)
	})
	if err == nil && changed {
		f.announce(ctx, p)
	}
	if err == nil && len(dropped) > 0 && f.OnDrop != nil {
		f.OnDrop(ctx, p, dropped)
	}
	if errors.Is(err, store.ErrUnavailable) { // the directory can be read all the same
		p, err = found, nil
	}
	return p, err
}

// query selects the records that match can choose.
func (now *diskState) query() store.ProjectQuery {
	return store.ProjectQuery{Common: now.Common, Path: now.Path, File: now.file()}
}

// errMissed ends a transaction in which git would have to run.
var errMissed = errors.New("the records of projects changed while git was asked for commits")

// maxRounds bounds the transactions of an update: each further one has met records that were stored since the last.
const maxRounds = 4

// update is Store.Update for a function that matches records with what is on disk. Git does not run in the transaction.
func (f *Finder) update(ctx context.Context, now *diskState, d store.Durability, do func(store.Tx) error) error {
	c := now.commits
	if c == nil { // outside of git
		return f.Store.Update(ctx, d, do)
	}
	// A round that had to ask git is undone; git answers, and the next round has the answers.
	for range maxRounds {
		err := f.Store.Update(ctx, d, func(tx store.Tx) error {
			c.freeze()
			if err := do(tx); err != nil {
				return err
			}
			if c.hasMissed() {
				return errMissed
			}
			return nil
		})
		c.answerMissed()
		if !errors.Is(err, errMissed) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", now.Path, errMissed)
}

// isOfOtherFile reports whether a record is of another file than before, as far as both are known: a clone, a copy or a
// restored backup is in its place. Its sessions are found there, but what was approved was approved for the other one.
func isOfOtherFile(before, after *store.Project) bool {
	return before.File != "" && after.File != "" && (before.Common == "") == (after.Common == "") &&
		!fileattr.IsSameIdentity(before.File, after.File)
}

// deleteApprovals deletes the saved approvals of a record and returns them.
func deleteApprovals(tx store.Tx, id session.RecordID) ([]store.Approval, error) {
	approvals, err := tx.Approvals(id)
	for _, a := range approvals {
		if _, err := tx.DeleteApproval(a.ID); err != nil {
			return nil, err
		}
	}
	return approvals, err
}

// putRecord stores the record of what is on disk, which gets the sessions from before it.
func putRecord(tx store.Tx, p store.Project, now *diskState) error {
	if err := tx.PutProject(p); err != nil {
		return err
	}
	for _, dir := range append([]string{p.Path}, now.Linked...) {
		if err := tx.AdoptSessions(p, filepath.ToSlash(dir)); err != nil {
			return err
		}
	}
	return nil
}

func isStored(p store.Project, known []store.Project) bool {
	return slices.ContainsFunc(known, func(k store.Project) bool { return reflect.DeepEqual(k, p) })
}

// Worktrees returns the linked worktrees of the project that exist. It reads the disk.
func Worktrees(p store.Project) []string {
	if p.Common == "" {
		return nil
	}
	return checkout.ListWorktrees(p.Common)
}
