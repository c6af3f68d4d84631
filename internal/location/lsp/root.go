package lsp

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// maxLevels bounds the directories between a file and its worktree.
const maxLevels = 64

// contains reports whether path is dir or lies below it. Both are clean and absolute.
func contains(dir, path string) bool {
	_, ok := workpath.RelativeTo(dir, path)
	return ok
}

// ascend returns the directories from one up to another, which contains it.
func ascend(from, to string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for range maxLevels {
			if !contains(to, from) || !yield(from) || from == to {
				return
			}
			from = filepath.Dir(from)
		}
	}
}

// findUp returns the path of the nearest file or directory with one of the names, relative paths or patterns, "" if
// there is none.
func findUp(from, to string, names []string) string {
	for dir := range ascend(from, to) {
		var entries []fs.DirEntry // of dir, read for the first pattern
		for _, name := range names {
			if !strings.Contains(name, "*") {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if _, err := os.Stat(path); err == nil {
					return path
				}
				continue
			}
			if entries == nil {
				entries, _ = os.ReadDir(dir)
			}
			for _, e := range entries {
				if ok, _ := filepath.Match(name, e.Name()); ok {
					return filepath.Join(dir, e.Name())
				}
			}
		}
	}
	return ""
}

// findRoot returns the root of the server for a file. ok is false if the server is not used for it.
func (m *Manager) findRoot(s Server, path string) (root string, ok bool) {
	dir := filepath.Dir(path)
	if findUp(dir, m.options.Worktree, s.Excludes) != "" {
		return "", false
	}
	for _, group := range s.Roots {
		if found := findUp(dir, m.options.Worktree, group); found != "" {
			return filepath.Dir(found), true
		}
	}
	return m.options.Directory, !s.Strict
}
