package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// Saved says where the work of a worktree is kept that is removed or reset.
type Saved struct {
	// Ref names a commit with what was not committed, or with commits that no branch has; "" if there is nothing of both.
	Ref string
	// Branch is that of the worktree if it stays because it has commits that no other one has.
	Branch string
}

// work says where the work of a worktree is looked for.
type work struct {
	tree      LinkedWorktree
	directory string // with its files, which tree.Directory may not be during a removal
	isPartial bool   // missing files are no changes
	earlier   string // a reference under which an earlier removal has saved work; "" without one
}

// findWork returns the uncommitted changes of a worktree, as lines of git status, and a copy of its index, which the
// caller removes. A repository within the worktree is a conflict, because it may have commits of its own.
func (g git) findWork(ctx context.Context, at work) (x *indexCopy, changes []string, err error) {
	c, ok := checkout.Find(at.directory)
	if !ok || c.Top != at.directory {
		return nil, nil, session.Errorf(session.CodeConflict, "%s is no worktree of git any more; look at it yourself", at.directory)
	}
	if inner, err := findInnerRepository(ctx, c); err != nil || inner != "" {
		if err == nil {
			err = session.Errorf(session.CodeConflict, "the worktree %s has a repository of its own in %s; move that away first",
				at.tree.Directory, inner)
		}
		return nil, nil, err
	}
	if x, err = g.copyIndex(ctx, c); err != nil {
		return nil, nil, describeGitError("its uncommitted changes cannot be looked for", at, err)
	}
	status, err := x.run(ctx, "status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=none", "--no-renames")
	if err != nil {
		x.remove()
		return nil, nil, describeGitError("its uncommitted changes cannot be looked for", at, err)
	}
	changes = slices.DeleteFunc(strings.Split(status, "\x00"), func(line string) bool {
		return line == "" || at.isPartial && strings.HasPrefix(line, " D")
	})
	return x, changes, nil
}

// saveWork returns the reference under which the uncommitted changes of a worktree, or the commits of one without a
// branch, are saved; "" if there are none. Without force, uncommitted changes are a conflict.
func (g git) saveWork(ctx context.Context, at work, force bool) (ref string, err error) {
	x, changes, err := g.findWork(ctx, at)
	if err != nil {
		return "", err
	}
	defer x.remove()
	switch {
	case len(changes) == 0 && at.tree.Branch == "":
		return g.saveHead(ctx, at, "")
	case len(changes) == 0:
		return "", nil
	case !force:
		return "", refuseChanges(at.tree, changes)
	}
	if ref, err = x.save(ctx, at); err != nil {
		return "", describeGitError("its changes cannot be saved", at, err)
	}
	return ref, nil
}

// describeGitError says which step at a worktree git refused, and why.
func describeGitError(step string, at work, err error) error {
	if _, ok := errors.AsType[*session.Error](err); ok {
		return err
	}
	words := strings.Join(strings.Fields(err.Error()), " ")
	return session.Errorf(session.CodeConflict, "the worktree %s stays, because %s: %s", at.tree.Directory, step,
		session.ClipText(words, 300)).Because(err)
}

func refuseChanges(w LinkedWorktree, changes []string) error {
	return session.Errorf(session.CodeConflict, "the worktree %s has uncommitted changes (%s); commit or remove them first",
		w.Directory, strings.TrimSpace(session.ClipText(changes[0], 100))).At("force")
}

// findInnerRepository returns a repository within a working tree, relative to it: a nested one, or a submodule, whose
// own repository goes with the worktree; "" without one.
func findInnerRepository(ctx context.Context, c checkout.Checkout) (string, error) {
	if entries, err := os.ReadDir(filepath.Join(c.GitDir, "modules")); err == nil && len(entries) > 0 {
		return "the submodule " + entries[0].Name(), nil
	}
	found := ""
	err := filepath.WalkDir(c.Top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case d.Name() == ".git" && filepath.Dir(path) != c.Top:
			found, err = filepath.Rel(c.Top, filepath.Dir(path))
			if err != nil {
				return err
			}
			return filepath.SkipAll
		case d.Name() == ".git" && d.IsDir():
			return filepath.SkipDir
		}
		return nil
	})
	return found, err
}

// saveHead is saveCommits for what is checked out in the worktree now.
func (g git) saveHead(ctx context.Context, at work, target string) (string, error) {
	c, ok := checkout.Find(at.directory)
	if !ok {
		return "", fmt.Errorf("%s is no worktree of git any more", at.directory)
	}
	head, err := g.findCommit(ctx, c, "")
	if err != nil {
		return "", err
	}
	return g.saveCommits(ctx, c, at.tree, head, target)
}

// saveCommits returns the reference under which a commit of the worktree is saved if neither another branch than that of
// the worktree, nor a tag, nor an earlier save, nor target has it; target may be "".
func (g git) saveCommits(ctx context.Context, c checkout.Checkout, w LinkedWorktree, commit, target string) (string, error) {
	others := []string{"--glob=refs/cairn/*"}
	if target != "" {
		others = append(others, target)
	}
	isOwn, err := g.isOwnCommit(ctx, c, w.Branch, commit, others...)
	if err != nil || !isOwn {
		return "", err
	}
	return g.saveRef(ctx, c, w, commit)
}

// isOwnCommit reports whether no branch but one, which may be "", no tag and none of the other references has the commit.
func (g git) isOwnCommit(ctx context.Context, c checkout.Checkout, branch, commit string, others ...string) (bool, error) {
	args := []string{"rev-list", "--max-count=1", commit, "--not"}
	if branch != "" {
		args = append(args, "--exclude="+branch)
	}
	args = append(args, "--branches", "--tags", "--remotes")
	own, err := g.runFor(ctx, c, nil, append(args, others...)...)
	return strings.TrimSpace(own) != "", err
}

// saveRef makes a reference for a commit and returns its name.
func (g git) saveRef(ctx context.Context, c checkout.Checkout, w LinkedWorktree, commit string) (string, error) {
	ref := savePrefix(w) + time.Now().UTC().Format(saveTime)
	_, err := g.runFor(ctx, c, nil, "update-ref", ref, commit, "")
	return ref, err
}

// saveTime is the form of the time that ends the name of a reference of saved work.
const saveTime = "20060102T150405.000"

// savePrefix returns how the names of references begin that save the work of worktrees with this name.
func savePrefix(w LinkedWorktree) string {
	name := strings.Map(func(r rune) rune { // as CheckWorktreeName wants it
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, w.Name)
	return "refs/cairn/worktrees/" + name + "-"
}

// findSaved returns the newest reference under which work of a worktree was saved since a time; "" without one.
func (g git) findSaved(ctx context.Context, c checkout.Checkout, w LinkedWorktree, since time.Time) string {
	prefix := savePrefix(w)
	out, err := g.run(ctx, c, "for-each-ref", "--sort=-refname", "--count=1", "--format=%(refname)", prefix+"????????T??????.???")
	ref := strings.TrimSpace(out)
	at, errTime := time.Parse(saveTime, strings.TrimPrefix(ref, prefix))
	if err != nil || errTime != nil || at.Before(since.Truncate(time.Millisecond)) {
		return ""
	}
	return ref
}
