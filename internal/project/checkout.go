package project

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// checkout is a working tree with the directories of its repository.
type checkout struct {
	top    string // the working tree
	gitDir string // git directory of this checkout
	common string // git directory shared by all checkouts of the repository
}

// findCheckout searches for .git from dir upwards, as git does: a directory, or a file that names one.
func findCheckout(dir string) (checkout, bool) {
	for {
		if c, ok := checkoutAt(dir); ok {
			return c, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return checkout{}, false
		}
		dir = parent
	}
}

func checkoutAt(top string) (checkout, bool) {
	gitDir := filepath.Join(top, ".git")
	info, err := os.Stat(gitDir)
	if err != nil {
		return checkout{}, false
	}
	if !info.IsDir() {
		line, ok := firstLine(gitDir)
		target, isLink := strings.CutPrefix(line, "gitdir: ")
		if !ok || !isLink {
			return checkout{}, false
		}
		gitDir = makeAbsolute(target, top)
	}
	common := gitDir
	if line, ok := firstLine(filepath.Join(gitDir, "commondir")); ok {
		common = makeAbsolute(line, gitDir)
	}
	for _, need := range []string{filepath.Join(gitDir, "HEAD"), filepath.Join(common, "objects")} {
		if _, err := os.Lstat(need); err != nil {
			return checkout{}, false
		}
	}
	if real, err := filepath.EvalSymlinks(common); err == nil {
		common = real
	}
	return checkout{top, gitDir, common}, true
}

func makeAbsolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// firstLine returns the first line of a small regular file. Opening never blocks.
func firstLine(path string) (string, bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	raw, err := io.ReadAll(io.LimitReader(f, 4096))
	line, _, _ := strings.Cut(string(raw), "\n")
	line = strings.TrimRight(line, "\r")
	return line, err == nil && line != ""
}
