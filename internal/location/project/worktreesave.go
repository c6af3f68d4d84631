package project

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// secure returns the reference under which the uncommitted changes of a worktree, or the commits of one without a
// branch, are saved; "" if there are none. Without force, uncommitted changes are a conflict. A repository within the
// worktree always is one, because it may have commits of its own.
func (g git) secure(ctx context.Context, w LinkedWorktree, force bool) (ref string, err error) {
	c, ok := checkout.Find(w.Directory)
	if w.IsRemoving && (!ok || c.Top != w.Directory) {
		return "", session.Errorf(session.CodeConflict, "the removal of %s was cut off; look at what is left there, delete that, "+
			"and remove the worktree again", w.Directory)
	}
	if !ok || c.Top != w.Directory {
		return "", session.Errorf(session.CodeConflict, "%s is no worktree of git any more; look at it yourself", w.Directory)
	}
	if inner, err := findInnerRepository(ctx, c); err != nil || inner != "" {
		if err == nil {
			err = session.Errorf(session.CodeConflict, "the worktree %s has a repository of its own in %s; move that away first",
				w.Directory, inner)
		}
		return "", err
	}
	index, err := g.copyIndex(ctx, c)
	if err != nil {
		return "", fmt.Errorf("look for uncommitted changes in %s: %w", w.Directory, err)
	}
	defer index.remove()
	status, err := index.run(ctx, "status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=none",
		"--no-renames")
	if err != nil {
		return "", fmt.Errorf("look for uncommitted changes in %s: %w", w.Directory, err)
	}
	changes := slices.DeleteFunc(strings.Split(status, "\x00"), func(line string) bool {
		return line == "" || w.IsRemoving && strings.HasPrefix(line, " D") // removed by the removal that was cut off
	})
	switch {
	case len(changes) == 0 && w.Branch == "":
		return g.saveCommits(ctx, w, "")
	case len(changes) == 0:
		return "", nil
	case !force:
		return "", session.Errorf(session.CodeConflict, "the worktree %s has uncommitted changes (%s); commit or remove them first",
			w.Directory, strings.TrimSpace(session.ClipText(changes[0], 100))).At("force")
	}
	if ref, err = index.save(ctx, w); err != nil {
		return "", fmt.Errorf("save the changes in %s: %w", w.Directory, err)
	}
	return ref, nil
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

// indexCopy is a copy of a worktree's index that hides no changes. It can be changed.
type indexCopy struct {
	git  git
	c    checkout.Checkout
	path string
	env  []string
}

// copyIndex copies the index of a worktree, and makes git look at the files that the user has told it not to.
func (g git) copyIndex(ctx context.Context, c checkout.Checkout) (x *indexCopy, err error) {
	env, err := disableFilters(ctx, g, c)
	if err != nil {
		return nil, err
	}
	stored, err := os.ReadFile(filepath.Join(c.GitDir, "index"))
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "cairn-index-")
	if err != nil {
		return nil, err
	}
	x = &indexCopy{git: g, c: c, path: f.Name(), env: append(slices.Clone(env), "GIT_INDEX_FILE="+f.Name())}
	defer func() {
		if err != nil {
			x.remove()
		}
	}()
	if _, err := f.Write(stored); err != nil {
		_ = f.Close()
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	// Files marked as unchanged (a small letter), or as not there (S) although they are.
	list, err := x.run(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return nil, err
	}
	var marked strings.Builder
	for line := range strings.SplitSeq(list, "\x00") {
		mark, name, _ := strings.Cut(line, " ")
		if name == "" || mark != "S" && mark == strings.ToUpper(mark) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(c.Top, filepath.FromSlash(name))); err == nil {
			marked.WriteString(name + "\x00")
		}
	}
	for _, option := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if marked.Len() == 0 {
			break
		}
		i := invocation{
			args: []string{"--work-tree=" + c.Top, "update-index", option, "-z", "--stdin"}, env: x.env, stdin: marked.String(),
			most: maxOutput,
		}
		if _, err := g.call(ctx, c, i); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (x *indexCopy) remove() { _ = os.Remove(x.path) }

// run runs git with the copy. Its output is whole, or the error says that it is too long.
func (x *indexCopy) run(ctx context.Context, args ...string) (string, error) {
	const most = 64 << 20 // names of a million files
	args = append([]string{"--work-tree=" + x.c.Top}, args...)
	out, err := x.git.call(ctx, x.c, invocation{args: args, env: x.env, most: most})
	if err == nil && len(out) >= most {
		err = fmt.Errorf("git %s lists too many files", args[1])
	}
	return out, err
}

// save commits everything in the worktree below a reference, and what only its index has as a second parent.
func (x *indexCopy) save(ctx context.Context, w LinkedWorktree) (string, error) {
	staged, errStaged := x.run(ctx, "write-tree") // fails with conflicts, whose files are in the worktree
	if _, err := x.run(ctx, "add", "--all", "--", "."); err != nil {
		return "", err
	}
	tree, err := x.run(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	parents := []string{"-p", "HEAD"}
	if committed, err := x.run(ctx, "rev-parse", "HEAD^{tree}"); errStaged == nil && staged != tree && staged != committed {
		if err != nil {
			return "", err
		}
		commit, err := x.commit(ctx, staged, "index of "+w.Directory, parents)
		if err != nil {
			return "", err
		}
		parents = append(parents, "-p", commit)
	}
	commit, err := x.commit(ctx, tree, "uncommitted changes of "+w.Directory, parents)
	if err != nil {
		return "", err
	}
	return x.git.saveRef(ctx, x.c, w, commit)
}

// commit makes a commit of a tree and returns its name.
func (x *indexCopy) commit(ctx context.Context, tree, message string, parents []string) (string, error) {
	author := []string{
		"GIT_AUTHOR_NAME=cairn", "GIT_AUTHOR_EMAIL=cairn@localhost", "GIT_COMMITTER_NAME=cairn",
		"GIT_COMMITTER_EMAIL=cairn@localhost",
	}
	args := slices.Concat([]string{"commit-tree"}, parents, []string{"-m", message, strings.TrimSpace(tree)})
	commit, err := x.git.runFor(ctx, x.c, author, args...)
	return strings.TrimSpace(commit), err
}
