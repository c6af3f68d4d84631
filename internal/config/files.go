package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxAncestors bounds how far up a project's files are looked for.
const maxAncestors = 64

// source is a place that may hold a document.
type source struct {
	path     string
	scope    scope
	required bool
}

// sources lists the files to read, the lowest layer first.
func (l *loader) sources() []source {
	var out []source
	in := func(sc scope, dir string, names ...string) {
		for _, name := range names {
			if dir != "" {
				out = append(out, source{filepath.Join(dir, name), sc, false})
			}
		}
	}
	in(scopeUser, l.dirs.Foreign, "config.json", "opencode.json", "opencode.jsonc")
	in(scopeUser, l.dirs.Config, "cairn.json", "cairn.jsonc")
	if path := Getenv(l.getenv, "CONFIG"); path != "" {
		out = append(out, source{l.expand(path, l.opts.Directory), scopeUser, true})
	}
	if l.opts.Directory != "" && !Switch(l.getenv, "DISABLE_PROJECT_CONFIG") {
		chain := ancestors(l.opts.Directory, l.opts.Worktree)
		for _, dir := range chain {
			in(scopeProject, dir, "opencode.json", "opencode.jsonc", "cairn.json", "cairn.jsonc")
		}
		for _, dir := range chain {
			in(scopeProject, filepath.Join(dir, ".opencode"), "opencode.json", "opencode.jsonc")
			in(scopeProject, filepath.Join(dir, ".cairn"), "cairn.json", "cairn.jsonc")
		}
	}
	if dir := Getenv(l.getenv, "CONFIG_DIR"); dir != "" {
		in(scopeUser, l.expand(dir, l.opts.Directory), "opencode.json", "opencode.jsonc", "cairn.json", "cairn.jsonc")
	}
	return out
}

// ancestors returns the directories from top down to dir. Outside of top, or without one, it is dir alone.
func ancestors(dir, top string) []string {
	chain := []string{dir}
	if rel, err := filepath.Rel(top, dir); top == "" || err != nil || !filepath.IsLocal(rel) {
		return chain
	}
	for dir != top && len(chain) < maxAncestors {
		dir = filepath.Dir(dir)
		chain = append(chain, dir)
	}
	slices.Reverse(chain)
	return chain
}

// expand makes a path absolute: ~ is the home directory, relative ones start at dir.
func (l *loader) expand(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') && l.dirs.Home != "" {
		return filepath.Join(l.dirs.Home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// stamp is how a file looked when it was read, or that it was not there.
type stamp struct {
	path string
	info fs.FileInfo // nil: not there
}

// same reports whether the file looks as it did.
func (s stamp) same() bool {
	info, err := os.Stat(s.path)
	if err != nil || s.info == nil {
		return err != nil && s.info == nil
	}
	return os.SameFile(info, s.info) && info.Size() == s.info.Size() && info.ModTime().Equal(s.info.ModTime())
}

// read returns a regular file of bounded size and remembers how it looked. Opening never waits, whatever it is.
func (l *loader) read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		info, _ := os.Stat(path) // unreadable is not the same as not there
		l.stamps = append(l.stamps, stamp{path, info})
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	l.stamps = append(l.stamps, stamp{path, info})
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(raw) > maxFile {
		return nil, fmt.Errorf("the file is longer than the limit of %d bytes", maxFile)
	}
	return raw, err
}

// reason is an error without the path, which stands before it anyway.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// missing reports that there is no such file, also when a parent is no directory.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
