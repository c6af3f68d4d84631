package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/checkout"
)

func (g gitDir) index() string { return filepath.Join(g.dir, "index") }

// seedIndex copies the repository's index, unless the git directory has one that git can read. A copy that git cannot
// read, such as one of a split index, is removed: then the first capture reads every file.
func (g gitDir) seedIndex(ctx context.Context, repository checkout.Checkout) error {
	isReadable := func() bool {
		_, err := g.run(ctx, nil, "ls-files", "-z", "--unmerged")
		return err == nil
	}
	// Keep an index of an earlier process: it is newer than the copy would be.
	if _, err := os.Stat(g.index()); err == nil && isReadable() {
		return nil
	}
	// Copy the repository's index; without one there is nothing to copy.
	from, err := os.Open(filepath.Join(repository.GitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(g.index(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	// Keep the copy only if git reads it and its entries can be corrected.
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil || !isReadable() {
		return errors.Join(err, os.Remove(g.index()))
	}
	if err = errors.Join(g.clearIndexFlags(ctx), g.invalidateConverted(ctx, repository)); err != nil {
		return errors.Join(err, os.Remove(g.index()))
	}
	return nil
}

// clearIndexFlags clears the flags assume-unchanged and skip-worktree in the index: git does not look at files that
// have them, but a command can change them.
func (g gitDir) clearIndexFlags(ctx context.Context) error {
	listed, err := g.run(ctx, nil, "ls-files", "-z", "-v")
	if err != nil {
		return err
	}
	var marked bytes.Buffer
	for line := range strings.SplitSeq(string(listed), "\x00") {
		tag, name, _ := strings.Cut(line, " ")
		if tag == "S" || tag == "h" || tag == "s" { // skip-worktree, assume-unchanged, both
			marked.WriteString(name + "\x00")
		}
	}
	for _, mark := range []string{"--no-skip-worktree", "--no-assume-unchanged"} {
		if marked.Len() == 0 {
			break
		}
		names := bytes.NewBuffer(marked.Bytes())
		if _, err := g.run(ctx, names, "update-index", "-z", mark, "--stdin"); err != nil {
			return err
		}
	}
	return nil
}

// indexEntry is a file of the index.
type indexEntry struct {
	mode, blob, name string
}

// invalidateConverted makes the first capture read the files whose contents git converts (line ends, Git LFS, other
// filters): their blobs in the repository's index are not what the worktree contains. A file whose size differs from
// its blob's is converted. A filter may keep the size, so if an attribute can name one, every file is read. A large
// file whose size differs becomes untracked.
func (g gitDir) invalidateConverted(ctx context.Context, repository checkout.Checkout) error {
	// Collect what decides: the sizes of the blobs, and whether a filter may apply.
	entries, err := g.listEntries(ctx)
	if err != nil || len(entries) == 0 {
		return err
	}
	sizes, err := g.readSizes(ctx, entries)
	if err != nil {
		return err
	}
	filtered, err := g.hasFilters(ctx, repository)
	if err != nil {
		return err
	}
	// Write index entries without sizes and times for the files that must be read. A mode of zero removes an entry.
	root, err := os.OpenRoot(g.root)
	if err != nil {
		return err
	}
	defer root.Close()
	var changes bytes.Buffer // for update-index --index-info, which forgets sizes and times
	for _, e := range entries {
		info, err := root.Lstat(e.name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		size, known := sizes[e.blob]
		switch {
		case known && size == info.Size() && !filtered:
		case info.Size() > maxUntracked && (!known || size != info.Size()):
			fmt.Fprintf(&changes, "0 %s\t%s\x00", strings.Repeat("0", len(e.blob)), e.name)
		default:
			fmt.Fprintf(&changes, "%s %s\t%s\x00", e.mode, e.blob, e.name)
		}
	}
	// Apply them in one call of git.
	if changes.Len() == 0 {
		return nil
	}
	_, err = g.run(ctx, &changes, "update-index", "-z", "--index-info")
	return err
}

// listEntries returns the regular files of the index.
func (g gitDir) listEntries(ctx context.Context) (out []indexEntry, err error) {
	listed, err := g.run(ctx, nil, "ls-files", "-z", "--stage")
	for line := range strings.SplitSeq(string(listed), "\x00") {
		facts, name, _ := strings.Cut(line, "\t")
		if f := strings.Fields(facts); len(f) == 3 && f[2] == "0" && strings.HasPrefix(f[0], "100") {
			out = append(out, indexEntry{f[0], f[1], name})
		}
	}
	return out, err
}

// readSizes returns the sizes of the blobs that git has.
func (g gitDir) readSizes(ctx context.Context, entries []indexEntry) (map[string]int64, error) {
	var wanted bytes.Buffer
	for _, e := range entries {
		wanted.WriteString(e.blob + "\n")
	}
	sizes := make(map[string]int64, len(entries))
	err := g.stream(ctx, &wanted, func(r *bufio.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if blob, size, ok := strings.Cut(lines.Text(), " "); ok {
				if n, err := strconv.ParseInt(size, 10, 64); err == nil {
					sizes[blob] = n
				}
			}
		}
		return lines.Err()
	}, "cat-file", "--batch-check=%(objectname) %(objectsize)")
	return sizes, err
}

// hasFilters reports whether a file of attributes, of those that git reads by default, contains the word filter, or the
// settings of the repository name another one.
func (g gitDir) hasFilters(ctx context.Context, repository checkout.Checkout) (bool, error) {
	// Another file of attributes may contain anything.
	if strings.Contains(strings.ToLower(repository.ReadSettings()), "attributesfile") {
		return true, nil
	}
	listed, err := g.run(ctx, nil, "ls-files", "-z", "--cached", "--others")
	if err != nil {
		return false, err
	}
	// Collect the files of attributes: the repository's, the system's, the user's, and those in the worktree.
	files := []string{filepath.Join(repository.Common, "info", "attributes"), "/etc/gitattributes"}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "git", "attributes"))
	}
	for name := range strings.SplitSeq(string(listed), "\x00") {
		if filepath.Base(name) == ".gitattributes" {
			files = append(files, filepath.Join(g.root, filepath.FromSlash(name)))
		}
	}
	// A file that cannot be read may have filters.
	for _, file := range files {
		if text, err := readAttributes(file); err != nil || bytes.Contains(text, []byte("filter")) {
			return true, nil
		}
	}
	return false, nil
}

// readAttributes returns the beginning of a file of attributes, nothing of a missing one.
func readAttributes(file string) ([]byte, error) {
	const most = 1 << 20
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // git reads no attributes from it either
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}
