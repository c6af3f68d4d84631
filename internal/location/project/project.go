// Package project finds the project of a directory: the checkout around it, and the record of the project in the store.
//
// A record is matched by the place and the identity of the repository on disk (match.go). A repository is untrusted: what
// it contains, such as its root commit or its remote, never leads to the record of another one. Git is called with a
// fixed environment, no configuration but the repository's, and nothing in that can run a program or open a connection.
// It does not run for a repository that is known and unchanged. Without git the checkout is still found.
//
// The package writes the store, although only the engine writes sessions: a record is no part of a session's log. It is made
// from the disk and from what a user says, and no event leads to it.
package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Global is the identity of directories outside of repositories and of repositories without commits.
const Global session.ProjectID = "global"

// Project is the project of a directory.
type Project struct {
	ID        session.ProjectID // what OpenCode calls it
	RecordID  session.RecordID  // "" if there is no record
	Root      string            // root commit; "" without commits
	Directory string            // the directory, absolute, symlinks resolved
	Worktree  string            // root of its checkout; "" outside of one
	Main      string            // root of the checkout that contains the repository: Worktree, but in a linked worktree
	Subpath   string            // Directory relative to Worktree, with slashes; "" at the root and outside
	// Unlinked: .git names a repository that does not know the checkout, as in a linked worktree that was moved without git,
	// or that is not there, as in one whose repository was moved. It is a project of its own.
	Unlinked bool

	anchor, file string // what the record is found by, and its identity
}

// IsGit reports whether the directory is in a git checkout.
func (p Project) IsGit() bool { return p.Worktree != "" }

// History returns the root commit, or Global: what tells apart the projects that one path has had.
func (p Project) History() string { return cmp.Or(p.Root, string(Global)) }

// IsStillOutside reports whether the directory was in no git checkout and still is in none.
func (p Project) IsStillOutside() bool { return !p.IsGit() && !p.IsInCheckout() }

// IsInCheckout reports whether the directory is in a git checkout now.
func (p Project) IsInCheckout() bool {
	_, found := checkout.Find(p.Directory)
	return found
}

// IsSameFile reports whether the directory or the repository was not replaced by another one since.
func (p Project) IsSameFile() bool { return p.file == "" || fileattr.ReadIdentity(p.anchor) == p.file }

// Finder finds projects and their records. Safe for concurrent use.
type Finder struct {
	// Store has the records; nil: projects have none.
	Store store.Store
	IDs   *session.IDs // of new records; needed with Store
	// OnChange is called after a stored record has changed; nil calls nothing. It must not wait for a location.
	OnChange func(context.Context, store.Project)
	// OnDrop is called with the saved approvals of a record that were deleted, because another directory or repository is
	// in its place; nil calls nothing.
	OnDrop func(context.Context, store.Project, []store.Approval)
	// Git is the path of git; "" looks it up in PATH.
	Git string
}

// Find returns the project of a directory, and stores its record if it is new or has changed. A missing directory is a
// *session.Error.
func (f *Finder) Find(ctx context.Context, dir string) (Project, error) {
	return f.find(ctx, dir, true)
}

// Peek is Find without a change of the store: a project without a record has none afterwards.
func (f *Finder) Peek(ctx context.Context, dir string) (Project, error) {
	return f.find(ctx, dir, false)
}

func (f *Finder) find(ctx context.Context, dir string, write bool) (Project, error) {
	// Look at the disk, then find the record that this leads to.
	real, err := resolve(dir)
	if err != nil {
		return Project{}, err
	}
	now, c, isGit := f.observe(ctx, real)
	record, err := f.findRecord(ctx, now, write)
	if ctx.Err() != nil {
		return Project{}, context.Cause(ctx)
	}
	if err != nil {
		return Project{}, err
	}
	// The rest of the project is what is on disk.
	p := Project{
		ID: record.ProjectID, RecordID: record.ID, Root: record.Root, Directory: real,
		anchor: cmp.Or(now.Common, now.Path), file: now.file(),
	}
	if !isGit {
		if now.Common == "" { // the record may have the commit of a repository that was removed
			p.Root, p.Unlinked = "", checkout.IsDangling(real)
		}
		return p, nil
	}
	// Say where the directory is in its checkout, and which one has the repository.
	p.Worktree, p.Main, p.Unlinked = c.Top, c.Top, now.Unlinked
	if now.Common != "" {
		p.Main = c.MainTop()
	}
	if rel, err := filepath.Rel(c.Top, real); err == nil && rel != "." {
		p.Subpath = filepath.ToSlash(rel)
	}
	return p, nil
}

func resolve(dir string) (string, error) {
	wrong := func(why string, err error) error {
		return session.Errorf(session.CodeInvalid, "the directory %s %s", dir, why).At("directory").Because(err)
	}
	if !filepath.IsAbs(dir) {
		return "", wrong("is not an absolute path", nil)
	}
	real, err := filepath.EvalSymlinks(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", wrong("does not exist", err)
	case err != nil:
		return "", wrong("cannot be opened", err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", wrong("is not a directory", err)
	}
	return real, nil
}

// String returns directory and identity, for logs.
func (p Project) String() string { return fmt.Sprintf("%s (%s)", p.Directory, p.ID) }
