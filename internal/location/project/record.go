package project

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// look returns what is on disk at the directory. Git runs when its functions are called, at most once for each commit.
func (f *Finder) look(ctx context.Context, directory string, c checkout.Checkout, isGit bool) *diskState {
	out := &diskState{Path: directory, HasRoot: func(string) bool { return false }, Root: func() string { return "" }}
	if isGit {
		out.Path = c.Top
		if c.IsOwned() {
			out.Common, out.CommonFile = c.Common, fileattr.ReadIdentity(c.Common)
			out.Path = c.MainTop()
			if out.Path == c.Top && c.IsLinked() {
				out.Path, out.Guessed = c.Common, true
			}
		}
		out.Root = sync.OnceValue(func() string { return f.readRoot(ctx, c) })
		checked := map[string]bool{}
		out.HasRoot = func(commit string) bool {
			has, done := checked[commit]
			if !done {
				has = f.hasRoot(ctx, c, commit)
				checked[commit] = has
			}
			return has
		}
	}
	out.PathFile = fileattr.ReadIdentity(out.Path)
	return out
}

// readRoot returns the root commit of HEAD, "" without one, or without git.
func (f *Finder) readRoot(ctx context.Context, c checkout.Checkout) string {
	g, err := f.findGit()
	if err != nil {
		return ""
	}
	root, err := g.rootCommit(ctx, c)
	if err != nil {
		return ""
	}
	return root
}

// hasRoot reports whether the commit is a root of the repository. It is true if git cannot say so, because it is missing
// or took too long: then the path decides.
func (f *Finder) hasRoot(ctx context.Context, c checkout.Checkout, commit string) bool {
	if !hash.MatchString(commit) {
		return false
	}
	g, err := f.findGit()
	return err != nil || g.isRoot(ctx, c, commit)
}

// findRecord returns the record of what is on disk. With write set it stores a record that is new or has changed. If it
// cannot be stored the id of a new one is "".
func (f *Finder) findRecord(ctx context.Context, now *diskState, c checkout.Checkout, write bool) (store.Project, error) {
	if f.Store == nil {
		return f.complete(match(now, nil), c), nil
	}
	query := store.ProjectQuery{Common: now.Common, Path: now.Path, File: now.file()}
	known, err := store.Query(ctx, f.Store, func(r store.Reader) ([]store.Project, error) { return r.Projects(query) })
	if err != nil {
		return store.Project{}, err
	}
	p := f.complete(match(now, known), c)
	if isStored(p, known) || !write || ctx.Err() != nil {
		return p, nil
	}
	// Decide again in the transaction: another directory of the repository may have been opened meanwhile.
	changed := false
	err = f.Store.Update(ctx, store.Relaxed, func(tx store.Tx) error {
		changed = false
		known, err := tx.Projects(query)
		if err != nil {
			return err
		}
		p = f.complete(match(now, known), c)
		if isStored(p, known) {
			return nil
		}
		p.Updated = time.Now().UnixMilli()
		if changed = p.ID != ""; !changed {
			p.ID, p.Created = session.RecordID(f.IDs.New(session.PrefixRecord)), p.Updated
		}
		return putRecord(tx, p)
	})
	if err == nil && changed {
		f.announce(p)
	}
	if errors.Is(err, store.ErrUnavailable) { // the directory can be read all the same
		p, err = f.complete(match(now, known), c), nil
	}
	return p, err
}

// putRecord stores the record, which gets the sessions from before it.
func putRecord(tx store.Tx, p store.Project) error {
	if err := tx.PutProject(p); err != nil {
		return err
	}
	for _, dir := range append([]string{p.Path}, Worktrees(p)...) {
		if err := tx.AdoptSessions(p, filepath.ToSlash(dir)); err != nil {
			return err
		}
	}
	return nil
}

// complete returns the record with what the settings of the repository say.
func (f *Finder) complete(p store.Project, c checkout.Checkout) store.Project {
	p.ProjectID, p.Remote = Global, ""
	if c.Common != "" {
		p.ProjectID, p.Remote = computeID(c, p.Root), normalizeRemote(c.ReadOrigin())
	}
	return p
}

func isStored(p store.Project, known []store.Project) bool {
	return slices.ContainsFunc(known, func(k store.Project) bool { return reflect.DeepEqual(k, p) })
}

// Worktrees returns the linked worktrees of the project that exist.
func Worktrees(p store.Project) []string {
	if p.Common == "" {
		return nil
	}
	return checkout.ListWorktrees(p.Common)
}
