package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// ChangesCopy are uncommitted changes that CopyChanges copied.
type ChangesCopy struct {
	finder   *Finder
	from, to Project
	patch    string
}

// CopyChanges copies the uncommitted changes of the working tree of one project to that of another, which has the same
// commit or one in which the changed places are the same: all changes, with new files that git does not ignore, or none
// with an error. The index of neither changes. Both may be the same working tree: then nothing is copied.
func (f *Finder) CopyChanges(ctx context.Context, from, to Project) (*ChangesCopy, error) {
	copied := &ChangesCopy{finder: f, from: from, to: to}
	switch {
	case from.Worktree == to.Worktree && from.IsGit():
		return copied, nil
	case !from.IsGit():
		return nil, session.Errorf(session.CodeInvalid, "%s is in no git checkout, so its changes are not known", from.Directory)
	case !to.IsGit():
		return nil, session.Errorf(session.CodeInvalid, "%s is in no git checkout, so changes cannot be taken there", to.Directory)
	}
	if err := f.checkLarge(ctx, from); err != nil {
		return nil, err
	}
	patch, err := f.Diff(ctx, from)
	if err != nil {
		return nil, err
	}
	if len(patch) >= maxDiff { // it may be cut
		return nil, session.Errorf(session.CodeInvalid,
			"the changes in %s are larger than %d MiB; commit some of them first", from.Worktree, maxDiff>>20)
	}
	copied.patch = patch
	if err := copied.apply(ctx, to); err != nil {
		return nil, session.Errorf(session.CodeConflict, "the changes do not fit into %s: %v", to.Worktree, err).Because(err)
	}
	return copied, nil
}

// checkLarge returns an error if an untracked file is too large for Diff.
func (f *Finder) checkLarge(ctx context.Context, p Project) error {
	g, c, err := f.open(p)
	if err != nil {
		return err
	}
	fresh, err := listUntracked(ctx, g, c, false)
	if err != nil {
		return err
	}
	if len(fresh) >= maxChanges {
		return session.Errorf(session.CodeInvalid, "%s has more than %d new files; commit some of them first", p.Worktree, maxChanges)
	}
	for _, file := range fresh {
		info, err := os.Lstat(filepath.Join(c.Top, filepath.FromSlash(file.File)))
		if err == nil && info.Size() > maxDiff {
			return session.Errorf(session.CodeInvalid, "the new file %s has more than %d MiB; move it yourself first",
				file.File, maxDiff>>20)
		}
	}
	return nil
}

// Remove removes the changes from the first working tree. If a file of it has changed since, nothing is removed and the
// error says which.
func (c *ChangesCopy) Remove(ctx context.Context) error { return c.apply(ctx, c.from, "--reverse") }

// TakeBack removes the changes from the second working tree.
func (c *ChangesCopy) TakeBack(ctx context.Context) error { return c.apply(ctx, c.to, "--reverse") }

// apply applies the patch to a working tree, completely or not at all.
func (c *ChangesCopy) apply(ctx context.Context, p Project, options ...string) error {
	if c.patch == "" {
		return nil
	}
	g, found, err := c.finder.open(p)
	if err != nil {
		return err
	}
	plain, err := disableFilters(ctx, g, found)
	if err != nil {
		return err
	}
	return g.applyPatch(ctx, found, plain, c.patch, options...)
}

// applyPatch applies a patch to a working tree, completely or not at all. The error has git's words.
func (g git) applyPatch(
	ctx context.Context, c checkout.Checkout, env []string, patch string, options ...string,
) error {
	args := slices.Concat([]string{"--work-tree=" + c.Top, "apply", "--whitespace=nowarn"}, options, []string{"-"})
	out, err := g.call(ctx, c, invocation{args: args, env: env, stdin: patch, most: maxOutput, stderr: true})
	if err == nil {
		return nil
	}
	if why := strings.TrimSpace(session.ClipText(out, 1000)); why != "" {
		return fmt.Errorf("%s", why)
	}
	return err
}
