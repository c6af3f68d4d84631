package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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

	head string // the commit that is checked out
}

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

// worktreeTime bounds a call of git that may write or remove all files of a working tree.
const worktreeTime = 10 * time.Minute

// maxWorktreeName bounds the name of a worktree.
const maxWorktreeName = 64

// CheckWorktreeName returns an error for people if the name cannot be that of a worktree and of a branch.
func CheckWorktreeName(name string) error {
	isOdd := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r))
	}
	switch {
	case name == "" || len(name) > maxWorktreeName || strings.ContainsFunc(name, isOdd):
	case strings.ContainsAny(name[:1], "-_.") || strings.Contains(name, ".."):
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, ".lock"): // no name of a branch
	default:
		return nil
	}
	return session.Errorf(session.CodeInvalid, "the name %q of a worktree must have letters, digits, -, _ and . only, "+
		"and at most %d of them", session.ClipText(name, 80), maxWorktreeName).At("name")
}

// ListWorktrees returns the linked worktrees of the project's repository, sorted by directory. Outside of a repository
// there are none.
func (f *Finder) ListWorktrees(ctx context.Context, p Project) ([]LinkedWorktree, error) {
	g, c, err := f.open(p)
	if err != nil {
		return nil, nil
	}
	text, err := g.run(ctx, c, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, fmt.Errorf("list the worktrees of %s: %w", p.Worktree, err)
	}
	// Each worktree is a paragraph; the first one is the main worktree.
	var out []LinkedWorktree
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i == 0 {
			continue
		}
		var w LinkedWorktree
		for line := range strings.SplitSeq(paragraph, "\n") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				w.Directory = filepath.FromSlash(value)
				w.Name = filepath.Base(w.Directory)
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
		if info, err := os.Stat(w.Directory); err != nil || !info.IsDir() {
			w.IsGone = true
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b LinkedWorktree) int { return strings.Compare(a.Directory, b.Directory) })
	return out, nil
}

// CreateWorktree creates a linked worktree with a branch of its own. It leaves nothing behind if it fails. Hooks of the
// repository do not run.
func (f *Finder) CreateWorktree(ctx context.Context, p Project, n NewWorktree) (w LinkedWorktree, err error) {
	// Check the request.
	g, c, err := f.open(p)
	if err != nil {
		return w, session.Errorf(session.CodeInvalid, "%s is in no git repository, so it can have no worktrees", p.Directory)
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
	start, err := g.findCommit(ctx, c, n.From)
	if err != nil {
		return w, err
	}
	if _, err := os.Lstat(w.Directory); err == nil {
		return w, session.Errorf(session.CodeConflict, "%s exists already", w.Directory).At("name")
	}
	if _, err := g.run(ctx, c, "rev-parse", "--verify", "--quiet", "refs/heads/"+w.Branch); err == nil {
		return w, session.Errorf(session.CodeConflict, "the branch %s exists already", w.Branch).At("name")
	}
	if err := os.MkdirAll(n.Parent, 0o755); err != nil {
		return w, session.Errorf(session.CodeInvalid, "the worktree cannot be created: %v", err).Because(err)
	}
	// Create it without files, then write them.
	_, err = g.runFor(ctx, c, nil, "worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", creating, "-b", w.Branch,
		w.Directory, start)
	if err != nil {
		return w, fmt.Errorf("create the worktree %s: %w", w.Directory, err)
	}
	if err = g.writeFiles(ctx, w.Directory, n.Filters); err == nil {
		_, err = g.runFor(ctx, c, nil, "worktree", "unlock", w.Directory)
	}
	if err != nil {
		clean := context.WithoutCancel(ctx)
		_, errRemove := g.runFor(clean, c, nil, "worktree", "remove", "--force", "--force", w.Directory)
		_, errBranch := g.runFor(clean, c, nil, "branch", "-D", "--quiet", w.Branch)
		return w, errors.Join(fmt.Errorf("write the files of the worktree %s: %w", w.Directory, err), errRemove, errBranch)
	}
	return w, nil
}

// creating is the reason of the lock of a worktree whose files are not written yet.
const creating = "cairn makes this worktree"

// findCommit returns the commit of a name; "" is HEAD.
func (g git) findCommit(ctx context.Context, c checkout.Checkout, name string) (string, error) {
	if name == "" {
		name = "HEAD"
	}
	out, err := g.run(ctx, c, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	commit := strings.TrimSpace(out)
	if err == nil && hash.MatchString(commit) {
		return commit, nil
	}
	if name == "HEAD" {
		return "", session.Errorf(session.CodeInvalid, "the repository %s has no commit yet, so it can have no worktrees", c.Top)
	}
	return "", session.Errorf(session.CodeInvalid, "%q is no branch or commit here", session.ClipText(name, 80)).At("from")
}

// writeFiles writes the files of a worktree that has none, or writes them anew.
func (g git) writeFiles(ctx context.Context, directory string, filters bool, options ...string) error {
	c, ok := checkout.Find(directory)
	if !ok {
		return errors.New("git did not create it")
	}
	var env []string
	if !filters {
		var err error
		if env, err = disableFilters(ctx, g, c); err != nil {
			return err
		}
	}
	_, err := g.runFor(ctx, c, env, slices.Concat([]string{"--work-tree=" + c.Top, "reset", "--quiet", "--hard"}, options)...)
	return err
}

// runFor returns git's output. Its error has git's words.
func (g git) runFor(ctx context.Context, c checkout.Checkout, env []string, args ...string) (string, error) {
	out, err := g.call(ctx, c, invocation{args: args, env: env, most: maxOutput, stderr: true, limit: worktreeTime})
	if err == nil {
		return out, nil
	}
	if why := strings.TrimSpace(session.ClipText(out, 1000)); why != "" {
		err = errors.New(why)
	}
	return out, err
}
