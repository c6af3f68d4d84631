// Package protected guards the protected files of a project while a command runs, where the kernel does not: names that
// do not exist when the command starts, and on systems without mount namespaces all of them.
//
// A FileGuard compares the protected paths only, so its cost does not depend on the size of the project. It moves what
// the command made to a folder of held files, and restores what it changed from copies in memory. The process that
// starts a command makes the guard, and the supervisor of the command, which gets it as JSON, uses it: it sees the end
// of all that the command starts.
package protected

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Config says what a FileGuard guards. Paths are absolute.
type Config struct {
	Held     string   // the folder for what a command made; "" for no guard
	Writable []string // directories that the command may write to
	Paths    []string // protected paths, whether they exist or not
	Nested   []string // existing protected paths that may be moved with a directory above
	// Repositories are the directories of the project's repositories: linked worktrees and submodules that appear there
	// are guarded.
	Repositories []string
	// NewSubmodules: the command was permitted to change the settings of the repository, so that the links of submodules
	// that it makes stay.
	NewSubmodules bool
	// Folders are directories without a repository of their own, in which one that belongs to none of Repositories does
	// not appear as a file.
	Folders []string
}

// maxCompared bounds the files of a protected directory that are compared.
const maxCompared = 500

// describeState returns a text that changes whenever the file, or one of the first files below the directory, does; nil
// if there is nothing.
func describeState(path string) []byte {
	if _, err := os.Lstat(path); isMissing(err) {
		return nil
	}
	hash, left := sha256.New(), maxCompared
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path
	}
	link, _ := os.Readlink(path)
	_, _ = fmt.Fprintln(hash, link)
	_ = filepath.WalkDir(target, func(name string, _ fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		info, statErr := os.Lstat(name)
		if err != nil || statErr != nil {
			_, _ = fmt.Fprintln(hash, name, "unreadable")
			return nil
		}
		size := info.Size()
		if info.IsDir() {
			size = 0
		}
		_, _ = fmt.Fprintln(hash, name, info.Mode(), size, ChangeTime(info))
		return nil
	})
	return hash.Sum(nil)
}

// describeIdentity returns a text that no other file has at the same time, nil if the path does not exist.
func describeIdentity(path string) []byte {
	info, err := os.Lstat(path)
	switch {
	case isMissing(err):
		return nil
	case err != nil:
		return []byte("unreadable")
	}
	return []byte(identifyFile(info))
}

// isMissing reports whether an error says that a file does not exist. One that cannot be seen may exist.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// findTop returns the writable directory that contains the path, without links, and the rest of the path.
func findTop(path string, writable []string) (top, rest string, ok bool) {
	for _, w := range writable {
		real, err := filepath.EvalSymlinks(w)
		if err != nil {
			continue
		}
		for _, dir := range slices.Compact([]string{w, real}) {
			rel, err := filepath.Rel(dir, path)
			if err == nil && filepath.IsLocal(rel) && rel != "." && cmp.Compare(len(real), len(top)) > 0 {
				top, rest, ok = real, rel, true
			}
		}
	}
	return top, rest, ok
}
