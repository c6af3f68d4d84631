package cli

import (
	"path/filepath"
	"strings"
)

// ResolvePath resolves a path against the working directory of the command; "" stays "".
func (a *Invocation) ResolvePath(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if strings.ContainsRune(name, 0) {
		return "", UsageErrorf("a path must not contain a NUL byte")
	}
	return a.AbsolutePath(name), nil
}

// AbsolutePath returns a path relative to the working directory as an absolute one.
func (a *Invocation) AbsolutePath(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.Dir, path)
	}
	return filepath.Clean(path)
}
