// Package program finds the programs of a location that formatters and language servers are: those of the project and
// those of the machine, under one rule of trust.
package program

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// maxLevels bounds the directories between a file and its worktree.
const maxLevels = 64

// Finder finds programs and files of a location.
type Finder struct {
	directory, worktree string
	trusted             bool
}

// NewFinder returns a Finder of a location. Both paths are absolute, without links; worktree may be "". A program
// inside of them, also behind a link, is found only if the project is trusted.
func NewFinder(directory, worktree string, trusted bool) Finder {
	if worktree == "" || !contains(worktree, directory) {
		worktree = directory
	}
	return Finder{directory, worktree, trusted}
}

// Owns reports whether a path is the project's.
func (f Finder) Owns(path string) bool { return contains(f.worktree, path) }

func contains(dir, path string) bool {
	_, ok := workpath.RelativeTo(dir, path)
	return ok
}

// Ascend returns the directories from one of the project up to the worktree.
func (f Finder) Ascend(from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for range maxLevels {
			if !f.Owns(from) || !yield(from) || from == f.worktree {
				return
			}
			from = filepath.Dir(from)
		}
	}
}

// FindUp returns the path of the nearest file or directory with one of the names, relative paths or patterns, ""
// without one.
func (f Finder) FindUp(from string, names ...string) string {
	for dir := range f.Ascend(from) {
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

// Find returns the path of a program, "" if none may run. A name with a slash is relative to the location or to the
// nearest directory above it. Another one is that of node_modules above from, or of the PATH in env (NAME=value).
func (f Finder) Find(name, from string, env []string) string {
	// A path.
	if filepath.IsAbs(name) {
		return f.check(name)
	}
	if name = filepath.FromSlash(name); strings.ContainsRune(name, filepath.Separator) {
		return f.findIn(slices.Collect(f.Ascend(f.directory)), name)
	}
	// The project's.
	if path := f.findIn(slices.Collect(f.Ascend(from)), filepath.Join("node_modules", ".bin", name)); path != "" {
		return path
	}
	// The machine's.
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			isRelative := func(dir string) bool { return !filepath.IsAbs(dir) }
			return f.findIn(slices.DeleteFunc(filepath.SplitList(value), isRelative), name)
		}
	}
	return ""
}

func (f Finder) findIn(dirs []string, name string) string {
	for _, dir := range dirs {
		if path := f.check(filepath.Join(dir, name)); path != "" {
			return path
		}
	}
	return ""
}

// check returns the path if it is a program that may run, with an extension that the system demands, else "".
func (f Finder) check(path string) string {
	suffixes := []string{""}
	if runtime.GOOS == "windows" {
		suffixes = []string{".exe", ".cmd", ".bat"}
	}
	for _, suffix := range suffixes {
		info, err := os.Stat(path + suffix)
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
			continue
		}
		target, err := filepath.EvalSymlinks(path + suffix)
		if err == nil && (f.trusted || !f.Owns(path) && !f.Owns(target)) {
			return path + suffix
		}
	}
	return ""
}
