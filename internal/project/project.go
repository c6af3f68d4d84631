// Package project tells which project a directory belongs to: the checkout around it, and an identity that clones and
// worktrees of one repository share, its root commit (spec/v1 §37, spec/v2 LC-1).
//
// A repository is anybody's: git is asked for one thing only, with an environment of our own, no configuration but
// the repository's, and nothing in it that could run a program or open a connection. Where git is not installed, the
// checkout is still found; its identity is then the one found earlier, or Global.
package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// Global is the identity of what belongs to no repository, or to one without a commit.
const Global session.ProjectID = "global"

// Project is where a directory belongs.
type Project struct {
	ID        session.ProjectID
	Directory string // the directory asked for: absolute, symlinks resolved
	Worktree  string // the top of its checkout; "" outside of one
	Subpath   string // Directory below Worktree, with slashes; "" at the top and outside
}

// IsGit reports whether the directory is in a git checkout.
func (p Project) IsGit() bool { return p.Worktree != "" }

// Finder finds projects and remembers identities. Safe for concurrent use.
type Finder struct {
	// Cache is a directory in which identities outlive the process, so that a long history is walked once and a
	// checkout keeps its identity when another root appears in it; "" remembers in memory only. It is made on need.
	Cache string
	// Git is the git to run; "" looks it up in PATH.
	Git string

	mu    sync.Mutex                   // guards known
	known map[string]session.ProjectID // by the repository's common folder
}

const maxKnown = 1024

// Find tells of a directory. That it does not exist, or is no directory, is a *session.Error.
func (f *Finder) Find(ctx context.Context, dir string) (Project, error) {
	real, err := resolve(dir)
	if err != nil {
		return Project{}, err
	}
	p := Project{ID: Global, Directory: real}
	c, ok := findCheckout(real)
	if !ok {
		return p, nil
	}
	p.Worktree = c.top
	if rel, err := filepath.Rel(c.top, real); err == nil && rel != "." {
		p.Subpath = filepath.ToSlash(rel)
	}
	p.ID = f.identify(ctx, c)
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

// identify returns the remembered identity while it still is a root of the repository, else what git says now. Without
// a commit, without git, or when git takes too long, it is Global, and the next call tries again.
func (f *Finder) identify(ctx context.Context, c checkout) session.ProjectID {
	f.mu.Lock()
	was := f.known[c.common]
	f.mu.Unlock()
	if was == "" {
		was = f.load(c.common)
	}
	g, err := f.git()
	switch {
	case err != nil && was != "":
		return was
	case err != nil:
		return Global
	case was != "" && g.isRoot(ctx, c, string(was)):
		f.remember(c, was)
		return was
	}
	root, err := g.root(ctx, c)
	if err != nil {
		return Global
	}
	f.remember(c, session.ProjectID(root))
	f.store(c.common, session.ProjectID(root))
	return session.ProjectID(root)
}

func (f *Finder) remember(c checkout, id session.ProjectID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxKnown {
		f.known = map[string]session.ProjectID{}
	}
	f.known[c.common] = id
}

// String is the identity with the place, for logs.
func (p Project) String() string { return fmt.Sprintf("%s (%s)", p.Directory, p.ID) }
