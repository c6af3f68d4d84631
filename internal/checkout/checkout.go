// Package checkout finds the working tree of git around a directory, and its repository, without starting git.
package checkout

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Checkout is a working tree with the directories of its repository.
type Checkout struct {
	Top    string // the working tree
	GitDir string // git directory of this checkout
	Common string // git directory shared by all checkouts of the repository, symlinks resolved
}

// Find searches for .git from dir upwards, as git does: a directory, or a file that names one.
func Find(dir string) (Checkout, bool) {
	for {
		if c, ok := checkoutAt(dir); ok {
			return c, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Checkout{}, false
		}
		dir = parent
	}
}

func checkoutAt(top string) (Checkout, bool) {
	gitDir := filepath.Join(top, ".git")
	info, err := os.Stat(gitDir)
	if err != nil {
		return Checkout{}, false
	}
	if !info.IsDir() {
		line, ok := FirstLine(gitDir)
		target, isLink := strings.CutPrefix(line, "gitdir: ")
		if !ok || !isLink {
			return Checkout{}, false
		}
		gitDir = MakeAbsolute(target, top)
	}
	common := gitDir
	if line, ok := FirstLine(filepath.Join(gitDir, "commondir")); ok {
		common = MakeAbsolute(line, gitDir)
	}
	for _, need := range []string{filepath.Join(gitDir, "HEAD"), filepath.Join(common, "objects")} {
		if _, err := os.Lstat(need); err != nil {
			return Checkout{}, false
		}
	}
	if real, err := filepath.EvalSymlinks(common); err == nil {
		common = real
	}
	return Checkout{top, gitDir, common}, true
}

// IsDangling reports whether the nearest .git from dir upwards is a file that names a repository which is not there, as in
// a linked worktree whose repository was moved.
func IsDangling(dir string) bool {
	for {
		line, _ := FirstLine(filepath.Join(dir, ".git"))
		if target, isLink := strings.CutPrefix(line, "gitdir: "); isLink {
			_, err := os.Lstat(filepath.Join(MakeAbsolute(target, dir), "HEAD"))
			return os.IsNotExist(err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// FindBare returns the repository whose own directory this is, such as a bare one. It has no working tree: Top is the
// directory.
func FindBare(dir string) (Checkout, bool) {
	info, err := os.Lstat(filepath.Join(dir, "HEAD"))
	if err != nil || info.IsDir() {
		return Checkout{}, false
	}
	for _, folder := range []string{"objects", "refs"} {
		info, err := os.Lstat(filepath.Join(dir, folder))
		if err != nil || !info.IsDir() {
			return Checkout{}, false
		}
	}
	return Checkout{dir, dir, dir}, true
}

// MainTop returns the working tree that contains the repository, of which a linked one is a copy; without such a tree,
// its own.
func (c Checkout) MainTop() string {
	if filepath.Base(c.Common) == ".git" {
		return filepath.Dir(c.Common)
	}
	return c.Top
}

// MakeAbsolute returns the path, which is relative to dir unless it is absolute, as git writes paths.
func MakeAbsolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// FirstLine returns the first line of a regular file.
func FirstLine(path string) (string, bool) {
	line, _, _ := strings.Cut(ReadStart(path), "\n")
	line = strings.TrimRight(line, "\r")
	return line, line != ""
}

// ReadStart returns at most maxRead bytes of a regular file, or "" if there is no such file. Opening never blocks.
func ReadStart(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	raw, _ := io.ReadAll(io.LimitReader(f, maxRead))
	return string(raw)
}

const maxRead = 64 << 10 // bytes of a file of git

// FindLinkedRepository returns the directory of the repository if it lies outside of the working tree and names it in
// return, as those of linked worktrees and submodules do; else "". A file .git alone is no proof: a command can write
// one that names any directory.
func (c Checkout) FindLinkedRepository() string {
	link := filepath.Join(c.Top, ".git")
	gitDir, err := filepath.EvalSymlinks(c.GitDir)
	if err != nil || gitDir == link {
		return ""
	}
	if gitDir != c.Common {
		back, ok := FirstLine(filepath.Join(gitDir, "gitdir"))
		if ok && filepath.Dir(gitDir) == filepath.Join(c.Common, "worktrees") &&
			isSame(MakeAbsolute(back, gitDir), link) {
			return c.Common
		}
		return ""
	}
	for line := range strings.Lines(c.ReadSettings()) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) == "worktree" && isSame(MakeAbsolute(strings.TrimSpace(value), gitDir), c.Top) {
			return c.Common
		}
	}
	return ""
}

// IsOwned reports whether the repository is that of the working tree: it lies in it, or names it in return. A directory
// whose file or link .git only claims a repository does not own it.
func (c Checkout) IsOwned() bool {
	gitDir, err := filepath.EvalSymlinks(c.GitDir)
	if err != nil {
		return false
	}
	return gitDir == filepath.Join(c.Top, ".git") && gitDir == c.Common || c.FindLinkedRepository() != ""
}

// IsLinked reports whether this is a linked working tree, which shares the repository of another one or of a bare one.
func (c Checkout) IsLinked() bool {
	gitDir, err := filepath.EvalSymlinks(c.GitDir)
	return err == nil && gitDir != c.Common
}

// maxWorktrees bounds ListWorktrees.
const maxWorktrees = 256

// ListWorktrees returns the linked working trees of a repository, by its common directory, that exist, sorted by name.
func ListWorktrees(common string) (found []string) {
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil {
		return nil
	}
	for _, e := range entries[:min(len(entries), maxWorktrees)] {
		gitDir := filepath.Join(common, "worktrees", e.Name())
		link, ok := FirstLine(filepath.Join(gitDir, "gitdir"))
		if !ok {
			continue
		}
		top, err := filepath.EvalSymlinks(filepath.Dir(MakeAbsolute(link, gitDir)))
		if err != nil {
			continue
		}
		if c, ok := checkoutAt(top); ok && c.Common == common {
			found = append(found, top)
		}
	}
	return found
}

// ReadSettings returns the start of the repository's file config.
func (c Checkout) ReadSettings() string { return ReadStart(filepath.Join(c.Common, "config")) }

// isSame reports whether two paths name one file or directory.
func isSame(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
