package project

import (
	"context"
	"crypto/sha1" //nolint:gosec // names of blobs in git
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
)

// Limits of the reported changes of a working tree.
const (
	maxDiff      = 16 << 20
	maxChanges   = 5000
	maxUntracked = 1 << 20 // bytes of a new file that are counted and included
)

// Change is a file of the working tree that differs from a commit.
type Change struct {
	File      string
	Status    string // added, deleted, modified
	Additions int    // 0 for binary files
	Deletions int
	Patch     string // "" unless requested
}

// Compare selects what a working tree is compared with.
type Compare struct {
	Branch  bool // with the merge base of the default branch instead of the last commit
	Patches bool
	Context int // lines around each change
}

// HeadLine returns the content of HEAD of the checkout around the directory, "ref: refs/heads/BRANCH" or a commit; ""
// outside of a checkout. It starts no process and reads only small files.
func HeadLine(directory string) string {
	c, ok := checkout.Find(directory)
	if !ok {
		return ""
	}
	line, _ := checkout.FirstLine(filepath.Join(c.GitDir, "HEAD"))
	return line
}

// Branches returns the checked-out branch and the repository's default branch; "" for a missing one.
func (f *Finder) Branches(ctx context.Context, p Project) (branch, standard string) {
	g, c, err := f.open(p)
	if err != nil {
		return "", ""
	}
	line := func(args ...string) string {
		out, err := g.run(ctx, c, args...)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(out)
	}
	branch = line("symbolic-ref", "--quiet", "--short", "HEAD")
	standard = strings.TrimPrefix(line("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"), "origin/")
	for _, name := range []string{"main", "master"} {
		if standard == "" && line("rev-parse", "--verify", "--quiet", "refs/heads/"+name) != "" {
			standard = name
		}
	}
	return branch, standard
}

// ListChanges returns the changed files by name; untracked files count as added. It returns nothing outside of a
// checkout, and nothing of the branch on the default branch.
func (f *Finder) ListChanges(ctx context.Context, p Project, with Compare) ([]Change, error) {
	// Find the checkout and the commit to compare with.
	g, c, err := f.open(p)
	if err != nil {
		return nil, nil
	}
	base := f.baseCommit(ctx, p, with)
	if base == "" {
		return nil, nil
	}
	// Programs of the repository's configuration must not run, so they are disabled, or nothing is read.
	plain, err := disableFilters(ctx, g, c)
	if err != nil {
		return nil, err
	}
	// diff compares the working tree with base. Its options exclude everything that a repository can configure.
	diff := func(args ...string) (string, error) {
		args = append(
			[]string{
				"--work-tree=" + c.Top,
				"diff",
				"--no-ext-diff",
				"--no-textconv",
				"--no-renames",
				"--no-color",
				"--ignore-submodules=all",
			},
			args...,
		)
		return g.call(ctx, c, invocation{args: append(args, base, "--"), env: plain, most: maxDiff})
	}
	// Names and counts are two outputs of git; patches a third one if they are wanted.
	names, err := diff("--name-status", "-z")
	if err != nil {
		return nil, fmt.Errorf("compare the working tree: %w", err)
	}
	counts, err := diff("--numstat", "-z")
	if err != nil {
		return nil, fmt.Errorf("compare the working tree: %w", err)
	}
	changes := parseChanges(names, counts)
	if with.Patches {
		text, err := diff("--unified=" + strconv.Itoa(max(with.Context, 0)))
		if err != nil {
			return nil, fmt.Errorf("compare the working tree: %w", err)
		}
		addPatches(changes, text)
	}
	// Add the untracked files, which git diff does not know. An error of theirs leaves the list usable.
	fresh, err := listUntracked(ctx, g, c, with.Patches)
	changes = append(changes, withoutListed(fresh, changes)...)
	slices.SortFunc(changes, func(a, b Change) int { return spelling.Order(a.File, b.File) })
	return changes, err
}

// withoutListed removes files that are listed already: a file that git no longer tracks but that still exists is listed
// once, as deleted.
func withoutListed(fresh, listed []Change) []Change {
	names := map[string]bool{}
	for _, c := range listed {
		names[c.File] = true
	}
	return slices.DeleteFunc(fresh, func(c Change) bool { return names[c.File] })
}

// Diff returns the difference between the working tree and the last commit, if there is one, as one text that Patch
// applies. Untracked files are new files in it, up to maxDiff bytes each; a renamed file is a deleted and a new one.
func (f *Finder) Diff(ctx context.Context, p Project) (string, error) {
	// Outside of a checkout there is nothing to compare.
	g, c, err := f.open(p)
	if err != nil {
		return "", nil
	}
	// Programs of the repository's configuration must not run.
	plain, err := disableFilters(ctx, g, c)
	if err != nil {
		return "", err
	}
	// git diff shows new files only if the index names them, so it gets a copy of the index that does.
	index, remove, err := addUntracked(ctx, g, c, plain)
	if err != nil {
		return "", fmt.Errorf("list new files: %w", err)
	}
	defer remove()
	// Binary patches are included, since the text must apply as it is.
	return g.call(ctx, c, invocation{
		args: []string{
			"--work-tree=" + c.Top,
			"diff",
			"--no-ext-diff",
			"--no-textconv",
			"--no-renames",
			"--no-color",
			"--binary",
			"--ignore-submodules=all",
			f.baseCommit(ctx, p, Compare{}),
			"--",
		},
		env: append(plain, index), most: maxDiff,
	})
}

// addUntracked returns the variable of a copy of the index in which untracked files are marked as to be added. remove
// deletes the copy. The repository stays as it is.
func addUntracked(
	ctx context.Context, g git, c checkout.Checkout, plain []string,
) (index string, remove func(), err error) {
	// Copy the index into a directory of its own. A repository without an index has no tracked files.
	dir, err := os.MkdirTemp("", "cairn-index-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	copied := filepath.Join(dir, "index")
	if _, err := copyIndexFile(c, copied); err != nil {
		return "", nil, err
	}
	// Choose the untracked files: regular files and links of a bounded size.
	fresh, err := listUntracked(ctx, g, c, false)
	if err != nil {
		return "", nil, err
	}
	var names strings.Builder
	for _, f := range fresh {
		info, err := os.Lstat(filepath.Join(c.Top, filepath.FromSlash(f.File)))
		if err == nil && info.Size() <= maxDiff && (info.Mode().IsRegular() || info.Mode().Type() == fs.ModeSymlink) {
			names.WriteString(f.File + "\x00")
		}
	}
	// Without new files the plain copy will do.
	index = "GIT_INDEX_FILE=" + copied
	if names.Len() == 0 {
		return index, remove, nil
	}
	// Mark them by name, through stdin: the list may be longer than a command line.
	_, err = g.call(ctx, c, invocation{
		args: []string{
			"--work-tree=" + c.Top, "--literal-pathspecs",
			"add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul",
		},
		env: append(slices.Clone(plain), index), stdin: names.String(), most: maxOutput,
	})
	return index, remove, err
}

// Patch applies the patch to the working tree completely or not at all. A patch that does not apply is an error with
// CodeConflict; outside of a checkout the code is CodeInvalid.
func (f *Finder) Patch(ctx context.Context, p Project, patch string) error {
	g, c, err := f.open(p)
	if err != nil {
		return session.Errorf(session.CodeInvalid, "%s is not in a git checkout", p.Directory)
	}
	plain, err := disableFilters(ctx, g, c)
	if err != nil {
		return session.Errorf(session.CodeConflict, "Patch can't be applied").Because(err)
	}
	_, err = g.call(ctx, c, invocation{
		args:  []string{"--work-tree=" + c.Top, "apply", "--whitespace=nowarn", "-"},
		env:   plain,
		stdin: patch, most: maxOutput,
	})
	if err != nil {
		return session.Errorf(session.CodeConflict, "Patch can't be applied").Because(err)
	}
	return nil
}

// open returns git and the checkout, or an error if either is missing.
func (f *Finder) open(p Project) (git, checkout.Checkout, error) {
	c, ok := checkout.Find(p.Directory)
	if !ok {
		return git{}, c, errors.New("no checkout")
	}
	g, err := f.findGit()
	return g, c, err
}

// baseCommit returns the commit to compare with: for a branch its merge base with the default branch; "" on the default
// branch itself. A repository without commits is compared with the empty tree.
func (f *Finder) baseCommit(ctx context.Context, p Project, with Compare) string {
	const nothing = "4b825dc642cb6eb9a060e54bf8d69288fbee4904" // the empty tree, which git knows in every repository
	g, c, err := f.open(p)
	if err != nil {
		return nothing
	}
	if with.Branch {
		return f.mergeBase(ctx, p)
	}
	if _, err := g.run(ctx, c, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return nothing
	}
	return "HEAD"
}

// mergeBase returns the commit at which the checked-out branch left the default branch; "" if it is the default branch
// or shares no commit with it.
func (f *Finder) mergeBase(ctx context.Context, p Project) string {
	branch, standard := f.Branches(ctx, p)
	g, c, err := f.open(p)
	if err != nil || standard == "" || branch == standard {
		return ""
	}
	for _, name := range []string{"refs/remotes/origin/" + standard, "refs/heads/" + standard} {
		out, err := g.run(ctx, c, "merge-base", "HEAD", name)
		if err == nil && hash.MatchString(strings.TrimSpace(out)) {
			return strings.TrimSpace(out)
		}
	}
	return ""
}

// disableFilters returns variables that disable the programs through which a repository's configuration filters
// contents. If they are not all known, contents must not be read.
func disableFilters(ctx context.Context, g git, c checkout.Checkout) ([]string, error) {
	out, err := g.run(ctx, c, "config", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil, nil // no filters are configured
	}
	if err == nil && len(out) >= maxOutput {
		err = errors.New("too many are configured")
	}
	if err != nil {
		return nil, fmt.Errorf("filters of the repository: %w", err)
	}
	names := slices.DeleteFunc(strings.Split(out, "\x00"), func(s string) bool { return s == "" })
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(names))}
	for i, name := range names {
		value := ""
		if strings.HasSuffix(name, ".required") {
			value = "false"
		}
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return env, nil
}

// parseChanges parses the output of diff --name-status -z and --numstat -z.
func parseChanges(names, counts string) []Change {
	var out []Change
	at := map[string]int{}
	fields := strings.Split(names, "\x00")
	for i := 0; i+1 < len(fields) && len(out) < maxChanges; i += 2 {
		status := map[string]string{"A": "added", "D": "deleted"}[fields[i]]
		if status == "" {
			status = "modified"
		}
		at[fields[i+1]] = len(out)
		out = append(out, Change{File: fields[i+1], Status: status})
	}
	for line := range strings.SplitSeq(counts, "\x00") {
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) != 3 {
			continue
		}
		if i, ok := at[parts[2]]; ok {
			out[i].Additions, _ = strconv.Atoi(parts[0]) // "-" for binary files
			out[i].Deletions, _ = strconv.Atoi(parts[1])
		}
	}
	return out
}

// addPatches assigns each change its piece of the diff; both are in git's order. A file that became a link has two
// pieces.
func addPatches(changes []Change, diff string) {
	const head = "diff --git "
	at, last := -1, ""
	for _, piece := range strings.Split("\n"+diff, "\n"+head)[1:] {
		names, _, _ := strings.Cut(piece, "\n")
		if names != last {
			at, last = at+1, names
		}
		if at < len(changes) {
			changes[at].Patch += head + strings.TrimSuffix(piece, "\n") + "\n"
		}
	}
}

// listUntracked returns files that git neither tracks nor ignores.
func listUntracked(ctx context.Context, g git, c checkout.Checkout, patches bool) ([]Change, error) {
	// Ask git for the names: NUL between them, since a name may contain anything else.
	out, err := g.run(ctx, c, "--work-tree="+c.Top, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
	if err != nil {
		return nil, fmt.Errorf("list new files: %w", err)
	}
	// Read contents through a root, so that no link leads out of the checkout.
	root, err := os.OpenRoot(c.Top)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var changes []Change
	for name := range strings.SplitSeq(out, "\x00") {
		// A name that ends in a slash is a nested repository, which is not looked into.
		if name == "" || strings.HasSuffix(name, "/") || len(changes) == maxChanges {
			continue
		}
		change := Change{File: name, Status: "added"}
		// Count the lines of small text files only; others have no counts and no patch.
		if text, ok := smallText(root, name); ok {
			lines := strings.SplitAfter(text, "\n")
			if lines[len(lines)-1] == "" {
				lines = lines[:len(lines)-1]
			}
			change.Additions = len(lines)
			if patches {
				change.Patch = newFile(name, lines)
			}
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// smallText returns the content of a regular text file of limited size.
func smallText(root *os.Root, name string) (string, bool) {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxUntracked {
		return "", false
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxUntracked))
	return string(b), err == nil && !strings.ContainsRune(string(b), 0)
}

// newFile returns the patch that creates a file, as git writes it.
func newFile(name string, lines []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\nindex 0000000..%.7[2]s\n", name, blobName(lines))
	switch len(lines) {
	case 0: // git writes no file names for an empty file
	case 1:
		fmt.Fprintf(&b, "--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n", name)
	default:
		fmt.Fprintf(&b, "--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n", name, len(lines))
	}
	for _, line := range lines {
		b.WriteString("+" + line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return b.String()
}

// blobName returns git's object id of the lines.
func blobName(lines []string) string {
	text := strings.Join(lines, "")
	sum := sha1.Sum(
		fmt.Appendf(nil, "blob %d\x00%s", len(text), text),
	) //nolint:gosec // git's name, nothing is secured by it
	return hex.EncodeToString(sum[:])
}
