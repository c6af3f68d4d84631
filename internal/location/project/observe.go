package project

import (
	"context"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// observe returns what is on disk at a directory without links, and the checkout there, which has no Common outside of
// git. It reads a few small files; git runs when the functions of the result are called, once for each question.
func (f *Finder) observe(ctx context.Context, directory string) (*diskState, checkout.Checkout, bool) {
	// Find the repository: that of a checkout, or the directory itself if it is a bare one.
	c, isGit := checkout.Find(directory)
	isBare := false
	if !isGit {
		c, isBare = checkout.FindBare(directory)
	}
	out := &diskState{Path: directory, HasRoot: func(string) bool { return false }, Root: func() string { return "" }}
	switch {
	case isBare:
		out.Common, out.IsMainUnknown = c.Common, true
	case isGit && c.IsOwned():
		out.Common, out.Path = c.Common, c.MainTop()
		if out.Path == c.Top && c.IsLinked() {
			out.Path, out.IsMainUnknown = c.Common, true
		}
		if file := fileattr.ReadIdentity(c.GitDir); c.IsLinked() && file != "" {
			out.Worktree = store.ProjectWorktree{Directory: c.Top, File: file}
		}
	case isGit:
		out.Path, out.Unlinked = c.Top, true
	}
	// Read the identities, and what the settings of the repository say.
	out.PathFile = fileattr.ReadIdentity(out.Path)
	if out.Common != "" {
		out.CommonFile = fileattr.ReadIdentity(out.Common)
	}
	if isGit || isBare {
		out.Remote = normalizeRemote(c.ReadOrigin())
		if stored, ok := checkout.FirstLine(filepath.Join(c.Common, "opencode")); ok && isID.MatchString(stored) {
			out.Stored = session.ProjectID(stored)
		}
		// Git is asked for commits when match needs them.
		out.commits = &commits{
			readRoot: func() string { return f.readRoot(ctx, c) },
			hasRoot:  func(commit string) bool { return f.hasRoot(ctx, c, commit) },
			checked:  map[string]bool{},
		}
		out.Root, out.HasRoot = out.commits.Root, out.commits.HasRoot
	}
	return out, c, isGit
}

// observeWorktrees reads the linked worktrees, whose sessions become those of the record.
func (now *diskState) observeWorktrees() {
	if now.Common != "" {
		now.Linked = checkout.ListWorktrees(now.Common)
	}
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

// commits answers questions about the commits of a repository, each with one run of git. Git must not run within a
// transaction of the store, which it would hold up: there, after freeze, a question that was not asked before is noted and
// answered as without commits, and the transaction is to be made again after answerMissed.
type commits struct {
	readRoot func() string
	hasRoot  func(commit string) bool

	root       string
	isRootRead bool
	checked    map[string]bool // by commit

	isFrozen     bool
	isRootMissed bool
	missed       []string // commits
}

// Root returns the root commit of HEAD, "" without one.
func (c *commits) Root() string {
	switch {
	case c.isRootRead:
	case c.isFrozen:
		c.isRootMissed = true
	default:
		c.root, c.isRootRead = c.readRoot(), true
	}
	return c.root
}

// HasRoot reports whether the repository has the commit, and it is a root.
func (c *commits) HasRoot(commit string) bool {
	has, isChecked := c.checked[commit]
	switch {
	case isChecked:
	case c.isFrozen:
		c.missed = append(c.missed, commit)
	default:
		has = c.hasRoot(commit)
		c.checked[commit] = has
	}
	return has
}

// freeze keeps git from running until answerMissed.
func (c *commits) freeze() { c.isFrozen, c.isRootMissed, c.missed = true, false, nil }

func (c *commits) hasMissed() bool { return c.isRootMissed || len(c.missed) > 0 }

// answerMissed lets git answer what was asked since freeze.
func (c *commits) answerMissed() {
	c.isFrozen = false
	if c.isRootMissed {
		c.Root()
	}
	for _, commit := range c.missed {
		c.HasRoot(commit)
	}
	c.isRootMissed, c.missed = false, nil
}
