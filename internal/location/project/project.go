// Package project finds the project of a directory: the checkout around it, and an identity that clones and worktrees
// of one repository share, its root commit (LC-1).
//
// A repository is untrusted: git is called with a fixed environment, no configuration but the repository's, and nothing
// in that can run a program or open a connection. Without git the checkout is still found; its identity is then the
// stored one, or Global.
package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// Global is the identity of directories outside of repositories and of repositories without commits.
const Global session.ProjectID = "global"

// Project is the project of a directory.
type Project struct {
	ID        session.ProjectID
	Directory string // the directory, absolute, symlinks resolved
	Worktree  string // root of its checkout; "" outside of one
	Main      string // root of the checkout that contains the repository: Worktree, but in a linked worktree
	Subpath   string // Directory relative to Worktree, with slashes; "" at the root and outside
}

// IsGit reports whether the directory is in a git checkout.
func (p Project) IsGit() bool { return p.Worktree != "" }

// IsStillOutside reports whether the directory was in no git checkout and still is in none.
func (p Project) IsStillOutside() bool {
	_, found := checkout.Find(p.Directory)
	return !p.IsGit() && !found
}

// Finder finds projects and caches identities. Safe for concurrent use.
type Finder struct {
	// Cache is a directory that stores identities across processes, so that a long history is walked once and a checkout
	// keeps its identity when another root commit appears; "" caches in memory only. It is created when needed.
	Cache string
	// Git is the path of git; "" looks it up in PATH.
	Git string

	mu  sync.Mutex                   // guards known
	ids map[string]session.ProjectID // by the repository's shared git directory
}

const maxKnown = 1024

// Find returns the project of a directory. A missing directory is a *session.Error.
func (f *Finder) Find(ctx context.Context, dir string) (Project, error) {
	real, err := resolve(dir)
	if err != nil {
		return Project{}, err
	}
	p := Project{ID: Global, Directory: real}
	c, ok := checkout.Find(real)
	if !ok {
		return p, nil
	}
	p.Worktree, p.Main = c.Top, c.MainTop()
	if rel, err := filepath.Rel(c.Top, real); err == nil && rel != "." {
		p.Subpath = filepath.ToSlash(rel)
	}
	p.ID = f.projectID(ctx, c)
	if ctx.Err() != nil {
		return Project{}, context.Cause(ctx)
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

// projectID returns the cached identity while it is still a root commit, else git's answer. Without commits, without
// git, or after git's time limit it is Global, and the next call tries again.
func (f *Finder) projectID(ctx context.Context, c checkout.Checkout) session.ProjectID {
	f.mu.Lock()
	was := f.ids[c.Common]
	f.mu.Unlock()
	if was == "" {
		was = f.load(c.Common)
	}
	g, err := f.findGit()
	switch {
	case err != nil && was != "":
		return was
	case err != nil:
		return Global
	case was != "" && g.isRoot(ctx, c, string(was)):
		f.storeID(c, was)
		return was
	}
	root, err := g.rootCommit(ctx, c)
	if err != nil {
		return Global
	}
	f.storeID(c, session.ProjectID(root))
	f.store(c.Common, session.ProjectID(root))
	return session.ProjectID(root)
}

func (f *Finder) storeID(c checkout.Checkout, id session.ProjectID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids == nil || len(f.ids) >= maxKnown {
		f.ids = map[string]session.ProjectID{}
	}
	f.ids[c.Common] = id
}

// String returns directory and identity, for logs.
func (p Project) String() string { return fmt.Sprintf("%s (%s)", p.Directory, p.ID) }
