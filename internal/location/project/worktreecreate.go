package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// NewWorktree says how a linked worktree is created.
type NewWorktree struct {
	Name   string // see CheckWorktreeName
	Parent string // absolute, of the new directory; it is created when needed
	From   string // the commit or branch to start at; "" is HEAD of the project's checkout
	Branch string // of the new worktree, which must not exist; "" is BranchPrefix with the name
	// Filters lets the programs run through which the repository's configuration filters contents.
	Filters bool
}

// BranchPrefix is the beginning of the names of branches that CreateWorktree makes.
const BranchPrefix = "cairn/"

// maxWorktreeName bounds the name of a worktree.
const maxWorktreeName = 64

// creating is the reason of the lock of a worktree whose files are not written yet.
const creating = "cairn makes this worktree"

// CheckWorktreeName returns an error for people if the name cannot be that of a worktree and of a branch.
func CheckWorktreeName(name string) error {
	isOdd := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r))
	}
	rule := ""
	switch {
	case name == "":
		rule = "must have letters, digits, -, _ and . only, and at least one of them"
	case strings.ContainsFunc(name, isOdd):
		rule = "must have letters, digits, -, _ and . only"
	case len(name) > maxWorktreeName:
		rule = fmt.Sprintf("must have at most %d characters", maxWorktreeName)
	case strings.ContainsAny(name[:1], "-_."):
		rule = "must begin with a letter or a digit"
	case strings.Contains(name, ".."):
		rule = "must not contain .., which git does not allow in the name of its branch"
	case strings.HasSuffix(name, "."), strings.HasSuffix(name, ".lock"):
		rule = "must not end with . or .lock, which git does not allow in the name of its branch"
	case strings.HasSuffix(name, removedSuffix):
		rule = "must not end with " + removedSuffix + ", which names a worktree whose removal has begun"
	default:
		return nil
	}
	return session.Errorf(session.CodeInvalid, "the name %q of a worktree %s", session.ClipText(name, 80), rule).At("name")
}

// NewOutsideError returns the error of worktrees of a project that is in no git repository.
func NewOutsideError(p Project) *session.Error {
	return session.Errorf(session.CodeInvalid, "%s is in no git repository, so it can have no worktrees", p.Directory)
}

// CreateWorktree creates a linked worktree with a branch of its own. It leaves nothing behind if it fails, or its error
// says what is left. Hooks of the repository do not run.
func (f *Finder) CreateWorktree(ctx context.Context, p Project, n NewWorktree) (w LinkedWorktree, err error) {
	// Check the request.
	g, c, err := f.open(p)
	if err != nil {
		return w, NewOutsideError(p)
	}
	if err := CheckWorktreeName(n.Name); err != nil {
		return w, err
	}
	w = LinkedWorktree{Name: n.Name, Branch: n.Branch, Directory: filepath.Join(n.Parent, n.Name)}
	if w.Branch == "" {
		w.Branch = BranchPrefix + n.Name
	}
	if _, err := g.run(ctx, c, "check-ref-format", "--branch", w.Branch); err != nil {
		return w, session.Errorf(session.CodeInvalid, "%q is no name of a branch", session.ClipText(w.Branch, 80)).At("branch")
	}
	if w.head, err = g.findCommit(ctx, c, n.From); err != nil {
		return w, err
	}
	for _, path := range []string{w.Directory, w.Directory + removedSuffix} {
		if _, err := os.Lstat(path); err == nil {
			return w, session.Errorf(session.CodeConflict, "%s exists already", path).At("name")
		}
	}
	if _, err := g.run(ctx, c, "rev-parse", "--verify", "--quiet", "refs/heads/"+w.Branch); err == nil {
		return w, session.Errorf(session.CodeConflict, "the branch %s exists already", w.Branch).At("name")
	}
	if _, missing := os.Lstat(n.Parent); missing != nil {
		defer func() {
			if err != nil {
				_ = os.Remove(n.Parent) // if it is empty
			}
		}()
	}
	if err := os.MkdirAll(n.Parent, 0o755); err != nil {
		return w, session.Errorf(session.CodeInvalid, "the worktree cannot be created: %v", err).Because(err)
	}
	// Make the branch first: then it is known whose it is if the rest fails.
	if _, err := g.runFor(ctx, c, nil, "branch", "--no-track", w.Branch, w.head); err != nil {
		return w, fmt.Errorf("create the branch %s: %w", w.Branch, err)
	}
	if err = g.addWorktree(ctx, c, w, n.Filters); err != nil {
		return w, errors.Join(fmt.Errorf("create the worktree %s: %w", w.Directory, err), g.removeIncomplete(ctx, c, w))
	}
	return w, nil
}

// addWorktree makes a worktree for a branch without files, then writes them. Until that is done the worktree is locked.
func (g git) addWorktree(ctx context.Context, c checkout.Checkout, w LinkedWorktree, filters bool) error {
	_, err := g.runFor(ctx, c, nil, "worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", creating, w.Directory,
		w.Branch)
	if err == nil {
		err = g.writeFiles(ctx, w.Directory, filters)
	}
	if err == nil {
		_, err = g.runFor(ctx, c, nil, "worktree", "unlock", w.Directory)
	}
	return err
}

// DiscardWorktree removes a worktree that CreateWorktree has just made, with its branch. What has been done in it since
// stays, and the error says what that is.
func (f *Finder) DiscardWorktree(ctx context.Context, p Project, w LinkedWorktree) error {
	ctx = context.WithoutCancel(ctx)
	saved, err := f.RemoveWorktree(ctx, p, Removal{Directory: w.Directory})
	if err != nil || saved.Branch == "" {
		return err
	}
	g, c, err := f.open(p)
	if err != nil {
		return err
	}
	return g.deleteBranch(ctx, c, w, w.head)
}

// removeIncomplete removes a worktree that could not be completed, and its branch if that still is at the commit. Its error says
// what is left.
func (g git) removeIncomplete(ctx context.Context, c checkout.Checkout, w LinkedWorktree) error {
	ctx = context.WithoutCancel(ctx)
	all, err := g.listWorktrees(ctx, c)
	if err != nil {
		return fmt.Errorf("the directory %s and the branch %s may stay: %w", w.Directory, w.Branch, err)
	}
	// Remove the directory, whose parent exists.
	listed := w.Directory
	if parent, err := filepath.EvalSymlinks(filepath.Dir(w.Directory)); err == nil { // git resolves links
		listed = filepath.Join(parent, filepath.Base(w.Directory))
	}
	var errLeft error
	if slices.ContainsFunc(all, func(other LinkedWorktree) bool { return other.listed == listed }) {
		_, errLeft = g.runFor(ctx, c, nil, "worktree", "remove", "--force", "--force", w.Directory)
	} else { // git made it, and ended
		errLeft = ignoreMissing(os.Remove(w.Directory))
	}
	if errLeft != nil {
		errLeft = fmt.Errorf("the directory %s stays: %w", w.Directory, errLeft)
	}
	// Remove the branch.
	return errors.Join(errLeft, g.deleteBranch(ctx, c, w, w.head))
}

// deleteBranch deletes the branch of a worktree if it is at the commit and no other worktree has it checked out. A branch
// that does not exist is no error.
func (g git) deleteBranch(ctx context.Context, c checkout.Checkout, w LinkedWorktree, commit string) error {
	ref := "refs/heads/" + w.Branch
	_, err := g.run(ctx, c, "show-ref", "--verify", "--quiet", ref)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil
	}
	all, err := g.listWorktrees(ctx, c)
	for _, other := range all {
		if other.Branch == w.Branch && other.listed != w.listed {
			err = fmt.Errorf("it is checked out in %s", other.Directory)
		}
	}
	if commit == "" {
		err = cmp.Or(err, errors.New("its commit cannot be read"))
	}
	if err == nil {
		_, err = g.runFor(ctx, c, nil, "update-ref", "-d", ref, commit)
	}
	if err != nil {
		return fmt.Errorf("the branch %s stays: %w", w.Branch, err)
	}
	_, _ = g.run(ctx, c, "config", "--local", "--remove-section", "branch."+w.Branch) // it seldom has one
	return nil
}

// writeFiles writes the files of a worktree that has none.
func (g git) writeFiles(ctx context.Context, directory string, filters bool) error {
	c, env, err := g.openTree(ctx, directory, filters)
	if err == nil {
		_, err = g.runFor(ctx, c, env, "--work-tree="+c.Top, "reset", "--quiet", "--hard")
	}
	return err
}

// openTree returns the checkout of a worktree, and the environment for calls that write its files.
func (g git) openTree(ctx context.Context, directory string, filters bool) (c checkout.Checkout, env []string, err error) {
	c, ok := checkout.Find(directory)
	if !ok {
		return c, nil, errors.New("it is no worktree of git")
	}
	if !filters {
		env, err = disableFilters(ctx, g, c)
	}
	return c, env, err
}
