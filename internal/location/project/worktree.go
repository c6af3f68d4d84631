package project

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// LinkedWorktree is a working tree of a repository besides its main one.
type LinkedWorktree struct {
	Name      string // of its directory
	Branch    string // checked out there, such as cairn/fix; "" for none
	Directory string
	IsGone    bool // the directory does not exist any more
	// IsRemoving and IsCreating report that its removal or creation has begun and did not end.
	IsRemoving, IsCreating bool
	// Lock is the reason for which the user has locked it, "locked" without one; "" if it is not locked.
	Lock string

	head   string // the commit that is checked out
	listed string // its directory as git lists it: Directory, or that with removedSuffix
	aside  string // to which a removal has renamed Directory; "" if there is no such directory
}

// ListWorktrees returns the linked worktrees of the project's repository, sorted by directory. Outside of a repository
// there are none.
func (f *Finder) ListWorktrees(ctx context.Context, p Project) ([]LinkedWorktree, error) {
	if _, ok := checkout.Find(p.Directory); !ok {
		return nil, nil
	}
	g, c, err := f.open(p)
	if err != nil {
		return nil, fmt.Errorf("list the worktrees of %s: %w", p.Worktree, err)
	}
	all, err := g.listWorktrees(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("list the worktrees of %s: %w", p.Worktree, err)
	}
	// The first one is the main worktree.
	linked := all[min(1, len(all)):]
	for i := range linked {
		w := &linked[i]
		w.findAside()
		info, err := os.Stat(w.Directory)
		w.IsGone = err != nil || !info.IsDir()
	}
	slices.SortFunc(linked, func(a, b LinkedWorktree) int { return strings.Compare(a.Directory, b.Directory) })
	return linked, nil
}

// listWorktrees returns the worktrees of a repository as git lists them, the main one first.
func (g git) listWorktrees(ctx context.Context, c checkout.Checkout) (all []LinkedWorktree, err error) {
	text, err := g.run(ctx, c, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, err
	}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		all = append(all, parseWorktree(paragraph))
	}
	return all, nil
}

// parseWorktree returns the worktree that a paragraph of git's list describes.
func parseWorktree(paragraph string) (w LinkedWorktree) {
	for line := range strings.SplitSeq(paragraph, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "worktree":
			w.Directory = filepath.FromSlash(value)
			w.listed = w.Directory
		case "HEAD":
			w.head = value
		case "locked":
			w.IsRemoving, w.IsCreating = value == removing, value == creating
			if !w.IsRemoving && !w.IsCreating {
				w.Lock = cmp.Or(value, "locked")
			}
		case "branch":
			w.Branch = strings.TrimPrefix(value, "refs/heads/")
		}
	}
	w.Name = filepath.Base(w.Directory)
	return w
}

// findAside finds the directory to which a removal has renamed the worktree. Git lists the worktree under the old name,
// or under the new one if git has run in it since.
func (w *LinkedWorktree) findAside() {
	if !w.IsRemoving && !w.IsCreating {
		return
	}
	if original, ok := strings.CutSuffix(w.Directory, removedSuffix); ok {
		w.Directory, w.Name = original, filepath.Base(original)
	}
	if info, err := os.Lstat(w.Directory + removedSuffix); err == nil && info.IsDir() {
		w.aside, w.IsRemoving = w.Directory+removedSuffix, true
	}
}

// FindWorktree returns a linked worktree of the project's repository. Its directory may be named by a link, or by the name
// that a removal has given it.
func (f *Finder) FindWorktree(ctx context.Context, p Project, directory string) (LinkedWorktree, error) {
	w, _, _, err := f.findWorktree(ctx, p, directory)
	return w, err
}

// findWorktree returns a linked worktree of the project's repository, and git with its shared directory.
func (f *Finder) findWorktree(
	ctx context.Context, p Project, directory string,
) (w LinkedWorktree, g git, c checkout.Checkout, err error) {
	all, err := f.ListWorktrees(ctx, p)
	if err != nil {
		return w, g, c, err
	}
	real, errLinks := filepath.EvalSymlinks(directory)
	i := slices.IndexFunc(all, func(w LinkedWorktree) bool {
		return w.Directory == directory || w.listed == directory || errLinks == nil && w.Directory == real
	})
	if i < 0 {
		var names []string
		for _, w := range all {
			names = append(names, w.Directory)
		}
		return w, g, c, session.NotFound("worktree", directory, names...)
	}
	// Git cannot remove the worktree that it runs in.
	g, err = f.findGit()
	c, ok := checkout.Find(p.Directory)
	if err == nil && !ok {
		err = session.Errorf(session.CodeInvalid, "%s is in no git repository", p.Directory)
	}
	c.Top, c.GitDir = c.Common, c.Common
	return all[i], g, c, err
}
