package snapshot

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxVisited bounds the entries of a repository inside of the worktree that are looked at.
const maxVisited = 20_000

// errVisited ends a walk that has looked at maxVisited entries.
var errVisited = errors.New("enough was visited")

// addRepositories adds the repositories inside of the worktree, whose files no capture has: submodules, and the names
// among others that end with a slash.
func (o omittedFiles) addRepositories(root *os.Root, others []string) {
	for _, name := range append(listSubmodules(root), others...) {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			o.addRepository(root, dir)
		}
	}
}

// addRepository adds the repository with the number of its files and a hash of their names, sizes, modes and
// modification times. What its git directory holds does not count.
func (o omittedFiles) addRepository(root *os.Root, dir string) {
	if !filepath.IsLocal(dir) {
		return
	}
	h, files, visited := fnv.New64a(), int64(0), 0
	err := fs.WalkDir(root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		visited++
		switch {
		case err != nil: // it vanished or cannot be read
			return nil
		case visited > maxVisited:
			return errVisited
		case e.IsDir() && skippedDirs[e.Name()]:
			return fs.SkipDir
		case e.IsDir() || e.Name() == ".git":
			return nil
		}
		if info, err := e.Info(); err == nil {
			files++
			_, _ = fmt.Fprintf(h, "%s\x00%d %o %d\n", name, info.Size(), info.Mode(), info.ModTime().UnixNano())
		}
		return nil
	})
	if files > 0 && (err == nil || errors.Is(err, errVisited)) {
		o[dir] = [2]int64{files, int64(h.Sum64())} //nolint:gosec // the bits of a hash
	}
}

// listSubmodules returns the directories that .gitmodules names, each with a slash at its end.
func listSubmodules(root *os.Root) (out []string) {
	raw, err := readContent(root, ".gitmodules", 0)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(raw)) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) == "path" {
			out = append(out, strings.Trim(strings.TrimSpace(value), `"`)+"/")
		}
	}
	return out
}
