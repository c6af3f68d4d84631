package project

import (
	"context"
	"errors"
	"fmt"
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
	// Branch is that of the worktree if it stays because it has commits that the default branch does not have.
	Branch string
}

// removing is the reason of the lock of a worktree that is being removed.
const removing = "cairn removes this worktree"

// RemoveWorktree removes a linked worktree, and its branch if another one has its commits. With uncommitted changes that
// git does not ignore it is a conflict; force saves them under a reference and removes the worktree. A removal that a
// crash cut off is completed by the next one.
func (f *Finder) RemoveWorktree(ctx context.Context, p Project, directory string, force bool) (out Saved, err error) {
	w, g, c, err := f.findWorktree(ctx, p, directory)
	if err != nil {
		return out, err
	}
	switch {
	case w.Lock != "":
		return out, session.Errorf(session.CodeConflict, "the worktree %s is locked (%s); git worktree unlock unlocks it",
			w.Directory, session.ClipText(w.Lock, 100))
	case w.IsGone && w.Branch == "":
		if out.Ref, err = g.saveGone(ctx, c, w); err != nil {
			return out, err
		}
	case !w.IsGone && !w.IsCreating: // else it has no files of its own yet
		if out.Ref, err = g.secure(ctx, w, force); err != nil {
			return out, err
		}
	}
	if !w.IsRemoving && !w.IsGone && !w.IsCreating {
		if _, err := g.runFor(ctx, c, nil, "worktree", "lock", "--reason", removing, w.Directory); err != nil {
			return out, fmt.Errorf("remove the worktree %s: %w", w.Directory, err)
		}
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := g.runFor(ctx, c, nil, "worktree", "remove", "--force", "--force", w.Directory); err != nil {
		return out, fmt.Errorf("remove the worktree %s: %w", w.Directory, err)
	}
	if w.Branch != "" {
		if _, err := g.run(ctx, c, "branch", "--delete", "--quiet", w.Branch); err != nil { // git refuses what is not merged
			out.Branch = w.Branch
		}
	}
	return out, nil
}

// ResetWorktree makes a linked worktree, and its branch, as the newest commit of the default branch. With uncommitted
// changes it is a conflict. Commits that no other branch has are saved under a reference.
func (f *Finder) ResetWorktree(ctx context.Context, p Project, directory string, filters bool) (out Saved, err error) {
	w, g, c, err := f.findWorktree(ctx, p, directory)
	if err != nil {
		return out, err
	}
	if w.IsGone {
		return out, session.Errorf(session.CodeInvalid, "the worktree %s is gone", w.Directory).At("directory")
	}
	_, standard := f.Branches(ctx, p)
	target := ""
	for _, name := range []string{"refs/remotes/origin/" + standard, "refs/heads/" + standard} {
		if target == "" && standard != "" {
			target, _ = g.findCommit(ctx, c, name)
		}
	}
	if target == "" {
		return out, session.Errorf(session.CodeInvalid, "the repository has no default branch to reset the worktree to")
	}
	if out.Ref, err = g.secure(ctx, w, false); err != nil {
		if e, ok := errors.AsType[*session.Error](err); ok {
			e.Field = "" // nothing forces a reset
		}
		return out, err
	}
	if out.Ref == "" {
		if out.Ref, err = g.saveCommits(ctx, w, target); err != nil {
			return out, err
		}
	}
	if err := g.writeFiles(ctx, w.Directory, filters, target); err != nil {
		return out, fmt.Errorf("reset the worktree %s: %w", w.Directory, err)
	}
	return out, nil
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
		return w.Directory == directory || errLinks == nil && w.Directory == real
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

// saveCommits returns the reference under which HEAD of the worktree is saved if neither another branch nor target has
// its commit; target may be "".
func (g git) saveCommits(ctx context.Context, w LinkedWorktree, target string) (string, error) {
	c, ok := checkout.Find(w.Directory)
	if !ok {
		return "", fmt.Errorf("%s is no worktree of git any more", w.Directory)
	}
	args := []string{"rev-list", "--max-count=1", "HEAD", "--not"}
	if w.Branch != "" {
		args = append(args, "--exclude="+w.Branch)
	}
	args = append(args, "--branches", "--tags", "--remotes", "--glob=refs/cairn/*")
	if target != "" {
		args = append(args, target)
	}
	own, err := g.runFor(ctx, c, nil, args...)
	if err != nil || strings.TrimSpace(own) == "" {
		return "", err
	}
	head, err := g.findCommit(ctx, c, "")
	if err != nil {
		return "", err
	}
	return g.saveRef(ctx, c, w, head)
}

// saveGone returns the reference under which the commit of a worktree is saved whose directory does not exist any more, if
// neither a branch nor a tag has it.
func (g git) saveGone(ctx context.Context, c checkout.Checkout, w LinkedWorktree) (string, error) {
	own, err := g.runFor(ctx, c, nil, "rev-list", "--max-count=1", w.head, "--not", "--branches", "--tags", "--remotes",
		"--glob=refs/cairn/*")
	if err != nil || strings.TrimSpace(own) == "" {
		return "", err
	}
	return g.saveRef(ctx, c, w, w.head)
}

// saveRef makes a reference for a commit and returns its name.
func (g git) saveRef(ctx context.Context, c checkout.Checkout, w LinkedWorktree, commit string) (string, error) {
	name := strings.Map(func(r rune) rune { // as CheckWorktreeName wants it
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, w.Name)
	ref := "refs/cairn/worktrees/" + name + "-" + time.Now().UTC().Format("20060102T150405.000")
	_, err := g.runFor(ctx, c, nil, "update-ref", ref, commit, "")
	return ref, err
}
