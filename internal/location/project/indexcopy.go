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

	"github.com/cairn-dev/cairn/internal/checkout"
)

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
	// Copy the file.
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
	if err := f.Close(); err != nil {
		return nil, err
	}
	exists, err := copyIndexFile(c, x.path)
	if err != nil {
		return nil, err
	}
	// Without an index the creation of the worktree was cut off: begin with that of its commit.
	if !exists {
		if err := os.Remove(x.path); err != nil {
			return nil, err
		}
		_, err := x.run(ctx, "read-tree", "HEAD")
		return x, err
	}
	return x, x.showHidden(ctx)
}

// copyIndexFile copies the index of a checkout to a file, with its time: git compares the contents of files that are not
// older than the index, because their times do not tell whether they have changed. It reports whether there is an index.
func copyIndexFile(c checkout.Checkout, to string) (exists bool, err error) {
	path := filepath.Join(c.GitDir, "index")
	info, err := os.Stat(path) // before the content: a newer one is compared too often, not too seldom
	if err != nil {
		return false, ignoreMissing(err)
	}
	stored, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(to, stored, 0o600)
	}
	if err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return true, err
}

// showHidden makes git look at the files that the user has told it not to.
func (x *indexCopy) showHidden(ctx context.Context) error {
	// Files marked as unchanged (a small letter), or as not there (S) although they are.
	list, err := x.run(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return err
	}
	var marked strings.Builder
	for line := range strings.SplitSeq(list, "\x00") {
		mark, name, _ := strings.Cut(line, " ")
		if name == "" || mark != "S" && mark == strings.ToUpper(mark) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(x.c.Top, filepath.FromSlash(name))); err == nil {
			marked.WriteString(name + "\x00")
		}
	}
	for _, option := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if marked.Len() == 0 {
			break
		}
		i := invocation{
			args: []string{"--work-tree=" + x.c.Top, "update-index", option, "-z", "--stdin"}, env: x.env, stdin: marked.String(),
			most: maxOutput, limit: worktreeTime,
		}
		if _, err := x.git.call(ctx, x.c, i); err != nil {
			return err
		}
	}
	return nil
}

// restoreMissing writes the files of a working tree that its index has and that are missing, those that isWanted accepts.
// No filter runs.
func (g git) restoreMissing(ctx context.Context, c checkout.Checkout, isWanted func(name string) bool) error {
	env, err := disableFilters(ctx, g, c)
	if err != nil {
		return err
	}
	x := &indexCopy{git: g, c: c, env: env}
	list, err := x.run(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	var missing strings.Builder
	for name := range strings.SplitSeq(list, "\x00") {
		if name == "" || !isWanted(name) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(c.Top, filepath.FromSlash(name))); errors.Is(err, fs.ErrNotExist) {
			missing.WriteString(name + "\x00")
		}
	}
	if missing.Len() == 0 {
		return nil
	}
	_, err = g.call(ctx, c, invocation{
		args: []string{"--work-tree=" + c.Top, "checkout-index", "--quiet", "-z", "--stdin"}, env: env, stdin: missing.String(),
		most: maxOutput, limit: worktreeTime,
	})
	return err
}

func (x *indexCopy) remove() { _ = os.Remove(x.path) }

// run runs git with the copy. Its output is whole, or the error says that it is too long.
func (x *indexCopy) run(ctx context.Context, args ...string) (string, error) {
	return x.feed(ctx, "", args...)
}

// feed is run with an input. New files outside of a sparse checkout are files as all others.
func (x *indexCopy) feed(ctx context.Context, stdin string, args ...string) (string, error) {
	const most = 64 << 20 // names of a million files
	all := append([]string{"--work-tree=" + x.c.Top, "-c", "core.sparseCheckout=false"}, args...)
	out, err := x.git.call(ctx, x.c, invocation{args: all, env: x.env, stdin: stdin, most: most, limit: worktreeTime})
	if err == nil && len(out) >= most {
		err = fmt.Errorf("git %s lists too many files", args[0])
	}
	return out, err
}

// addBytes puts the changed files into the index as they are on disk: git add converts line ends and keywords.
func (x *indexCopy) addBytes(ctx context.Context) error {
	// Find the regular files that differ from the commit, with their new modes.
	list, err := x.run(ctx, "diff-index", "--cached", "-z", "--no-renames", "--ignore-submodules=none", "HEAD", "--")
	if err != nil {
		return err
	}
	var modes, names []string
	var paths strings.Builder
	fields := strings.Split(list, "\x00") // two for each file: modes, objects and status, then the name
	for i := 0; i+1 < len(fields); i += 2 {
		about, name := strings.Fields(fields[i]), fields[i+1]
		if len(about) < 2 || !strings.HasPrefix(about[1], "100") {
			continue
		}
		info, err := os.Lstat(filepath.Join(x.c.Top, filepath.FromSlash(name)))
		if err != nil || !info.Mode().IsRegular() { // only the index has it
			continue
		}
		modes, names = append(modes, about[1]), append(names, name)
		paths.WriteString(quotePath(name) + "\n")
	}
	if len(names) == 0 {
		return nil
	}
	// Store their bytes, and put these into the index.
	out, err := x.feed(ctx, paths.String(), "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return err
	}
	objects := strings.Fields(out)
	if len(objects) != len(names) {
		return fmt.Errorf("git stored %d of %d files", len(objects), len(names))
	}
	var entries strings.Builder
	for i, name := range names {
		fmt.Fprintf(&entries, "%s %s\t%s\x00", modes[i], objects[i], name)
	}
	_, err = x.feed(ctx, entries.String(), "update-index", "-z", "--index-info")
	return err
}

// quotePath returns a path as git reads it from a line.
func quotePath(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

// save commits everything in the worktree below a reference, and what only its index has as a second parent.
func (x *indexCopy) save(ctx context.Context, at work) (string, error) {
	w := at.tree
	// Make a tree of what is staged, then one of all files.
	staged, errStaged := x.run(ctx, "write-tree") // fails with conflicts, whose files are in the worktree
	all := "--all"
	if at.isPartial {
		all = "--ignore-removal"
	}
	if _, err := x.run(ctx, "add", all, "--", "."); err != nil {
		return "", err
	}
	if err := x.addBytes(ctx); err != nil {
		return "", err
	}
	tree, err := x.run(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	// Commit what only the index has, as the second parent of the commit of all files.
	committed, err := x.run(ctx, "rev-parse", "HEAD^{tree}")
	if err != nil {
		return "", err
	}
	parents := []string{"-p", "HEAD"}
	if errStaged == nil && staged != tree && staged != committed {
		commit, err := x.commit(ctx, staged, "index of "+w.Directory, parents)
		if err != nil {
			return "", err
		}
		parents = append(parents, "-p", commit)
	}
	// What an earlier removal saved is the last parent, so that one reference names all.
	if at.earlier != "" {
		parents = append(parents, "-p", at.earlier)
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
