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
	part     string // agent, mode or command: the path is a folder of Markdown files, or one of these
	entry    string // what the Markdown file defines; "" while it is a folder
}

// sources lists the places to read, the lowest layer first. What an administrator manages comes after the variables.
func (l *loader) sources() []source {
	var s sourceList
	s.files(scopeUser, l.dirs.Foreign, "config.json", "opencode.json", "opencode.jsonc")
	s.folders(scopeUser, l.dirs.Foreign)
	s.files(scopeUser, l.dirs.Config, cairnFiles...)
	s.folders(scopeUser, l.dirs.Config)
	if l.dirs.Foreign != "" && l.dirs.Home != "" {
		s.directory(scopeUser, filepath.Join(l.dirs.Home, ".opencode"), openCodeFiles)
	}
	if path := Getenv(l.getenv, "CONFIG"); path != "" {
		s = append(s, source{path: l.expand(path, l.opts.Directory), scope: scopeUser, required: true})
	}
	if l.project() {
		chain := ancestors(l.opts.Directory, l.opts.Worktree)
		for _, dir := range chain {
			s.files(scopeProject, dir, bothFiles...)
		}
		for _, dir := range chain {
			s.directory(scopeProject, filepath.Join(dir, ".opencode"), openCodeFiles)
			s.directory(scopeProject, filepath.Join(dir, ".cairn"), cairnFiles)
		}
	}
	if dir := Getenv(l.getenv, "CONFIG_DIR"); dir != "" {
		s.directory(scopeUser, l.expand(dir, l.opts.Directory), bothFiles)
	}
	return s
}

// managed lists what an administrator says to everybody: the highest layer.
func (l *loader) managed() []source {
	var s sourceList
	for _, dir := range l.dirs.Managed {
		s.directory(scopeUser, dir, bothFiles)
	}
	return s
}

// project reports whether a project's files are read at all.
func (l *loader) project() bool {
	return l.opts.Directory != "" && !Switch(l.getenv, "DISABLE_PROJECT_CONFIG")
}

var (
	openCodeFiles = []string{"opencode.json", "opencode.jsonc"}
	cairnFiles    = []string{"cairn.json", "cairn.jsonc"}
	bothFiles     = []string{"opencode.json", "opencode.jsonc", "cairn.json", "cairn.jsonc"}
)

type sourceList []source

// directory adds a directory of configuration: its files, then its folders of Markdown files.
func (s *sourceList) directory(sc scope, dir string, names []string) {
	s.files(sc, dir, names...)
	s.folders(sc, dir)
}

func (s *sourceList) files(sc scope, dir string, names ...string) {
	for _, name := range names {
		if dir != "" {
			*s = append(*s, source{path: filepath.Join(dir, name), scope: sc})
		}
	}
}

func (s *sourceList) folders(sc scope, dir string) {
	for _, part := range []string{partCommand, partAgent, partMode} {
		for _, name := range []string{part, part + "s"} {
			if dir != "" {
				*s = append(*s, source{path: filepath.Join(dir, name), scope: sc, part: part})
			}
		}
	}
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

// resolve makes the document's shell absolute if it is a path: one that starts at the directory of whoever runs us would be
// another program each time. An organisation's document lies in no directory of its own.
func (l *loader) resolve(d *document) error {
	n := d.root.get("shell")
	if n == nil || n.kind != '"' || d.dir == "" || filepath.IsAbs(n.text) || !strings.ContainsAny(n.text, "/"+string(filepath.Separator)) {
		return nil
	}
	if d.remote != nil {
		return d.errorf(n.offset, "shell", "want the name of a program or an absolute path, got %s", n.said())
	}
	n.text = l.expand(n.text, d.dir)
	return nil
}

// stamp is how a file looked when it was read, or that it was not there.
type stamp struct {
	path string
	info fs.FileInfo // nil: not there
}

// stamp remembers how something looks that is not read here.
func (l *loader) stamp(path string) {
	info, _ := os.Stat(path) // nil: not there
	l.stamps = append(l.stamps, stamp{path, info})
}

// same reports whether the file looks as it did.
func (s stamp) same() bool {
	info, err := os.Stat(s.path)
	if err != nil || s.info == nil {
		return err != nil && s.info == nil
	}
	return os.SameFile(info, s.info) && info.Size() == s.info.Size() && info.ModTime().Equal(s.info.ModTime())
}

// errNoFile says that what has the name of a file is something else.
var errNoFile = errors.New("it is not a regular file")

// spared reports whether the rest goes on without a source that cannot be read. A project cannot stop the work that is
// not done in it; and what is no file says nothing, where a file may be missing. What the user has written does stop it:
// there may be rules in it.
func (s source) spared(err error) bool {
	return !s.required && (s.scope == scopeProject || s.part != "" && errors.Is(err, errNoFile))
}

// read returns a regular file of bounded size and remembers how it looked. Opening never waits, whatever it is.
func (l *loader) read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		l.stamp(path)                      // unreadable is not the same as not there
		if errors.Is(err, syscall.ENXIO) { // a socket
			err = errNoFile
		}
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	l.stamps = append(l.stamps, stamp{path, info})
	if !info.Mode().IsRegular() {
		return nil, errNoFile
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
