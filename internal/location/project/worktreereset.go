package project

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/session"
)

// ResetWorktree makes a linked worktree, and its branch, as the newest commit of the default branch. With uncommitted
// changes it is a conflict. Commits that no other branch has are saved under a reference.
func (f *Finder) ResetWorktree(ctx context.Context, p Project, directory string, filters bool) (out Saved, err error) {
	w, g, c, err := f.findWorktree(ctx, p, directory)
	if err != nil {
		return out, err
	}
	switch {
	case w.IsRemoving || w.IsCreating:
		return out, session.Errorf(session.CodeConflict, "the worktree %s is incomplete: its creation or removal was cut off; "+
			"remove it", w.Directory).At("directory")
	case w.IsGone:
		return out, session.Errorf(session.CodeInvalid, "the worktree %s is gone", w.Directory).At("directory")
	}
	// Find the commit.
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
	// Save what the reset would lose, and reset.
	at := work{tree: w, directory: w.Directory}
	if out.Ref, err = g.saveWork(ctx, at, false); err != nil {
		if e, ok := errors.AsType[*session.Error](err); ok {
			e.Field = "" // nothing forces a reset
		}
		return out, err
	}
	if out.Ref == "" {
		if out.Ref, err = g.saveHead(ctx, at, target); err != nil {
			return out, err
		}
	}
	if err := g.resetFiles(ctx, w.Directory, filters, target); err != nil {
		return out, session.Errorf(session.CodeConflict, "the worktree %s cannot be reset: %v", w.Directory, err).Because(err)
	}
	return out, nil
}

// resetFiles makes the branch, the index and the files of a worktree as a commit. A file that has changed since it was
// looked at stays, and then nothing changes.
func (g git) resetFiles(ctx context.Context, directory string, filters bool, target string) error {
	c, env, err := g.openTree(ctx, directory, filters)
	if err != nil {
		return err
	}
	work := "--work-tree=" + c.Top
	_, _ = g.runFor(ctx, c, env, work, "update-index", "-q", "--refresh") // files that were only touched are no changes
	_, err = g.runFor(ctx, c, env, work, "reset", "--quiet", "--keep", target)
	return err
}
