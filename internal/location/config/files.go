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

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// maxAncestors limits how many parent directories are searched for a project's files.
const maxAncestors = 64

// source is a file or folder that may hold a document.
type source struct {
	path     string
	layer    document.Layer
	required bool
	part     string // agent, mode or command: the path is a folder of Markdown files, or one of these
	entry    string // what the Markdown file defines; "" while it is a folder
}

// listSources returns the sources of the user and the project, lowest layer first. The administrator's sources are
// added later, above the environment variables.
func (l *loader) listSources() []source {
	var s sourceList
	// The user's files: OpenCode's, cairn's, and the one that CAIRN_CONFIG names.
	s.addFiles(document.LayerUser, l.dirs.Foreign, "config.json", "opencode.json", "opencode.jsonc")
	s.addFolders(document.LayerUser, l.dirs.Foreign)
	s.addFiles(document.LayerUser, l.dirs.Config, cairnFiles...)
	s.addFolders(document.LayerUser, l.dirs.Config)
	if l.dirs.Foreign != "" && l.dirs.Home != "" {
		s.addDirectory(document.LayerUser, filepath.Join(l.dirs.Home, ".opencode"), openCodeFiles)
	}
	if path := Getenv(l.getenv, "CONFIG"); path != "" {
		s = append(s, source{path: l.expandPath(path, l.opts.Directory), layer: document.LayerUser, required: true})
	}
	// The project's files, from its root down to the directory; files in folders are stronger than those beside
	// them.
	if l.readsProject() {
		chain := listAncestors(l.opts.Directory, l.opts.Worktree)
		for _, dir := range chain {
			s.addFiles(document.LayerProject, dir, bothFiles...)
		}
		for _, dir := range chain {
			s.addDirectory(document.LayerProject, filepath.Join(dir, ".opencode"), openCodeFiles)
			s.addDirectory(document.LayerProject, filepath.Join(dir, ".cairn"), cairnFiles)
		}
	}
	// A directory that a variable names is above the project's.
	if dir := l.namedDirectory(); dir != "" {
		s.addDirectory(document.LayerUser, dir, bothFiles)
	}
	return s
}

// namedDirectory returns the directory of CAIRN_CONFIG_DIR; "" if it is not set.
func (l *loader) namedDirectory() string {
	dir := Getenv(l.getenv, "CONFIG_DIR")
	if dir == "" {
		return ""
	}
	return l.expandPath(dir, l.opts.Directory)
}

// checkNamedDirectory adds a warning if CAIRN_CONFIG_DIR does not name a directory.
func (l *loader) checkNamedDirectory() {
	dir := l.namedDirectory()
	if dir == "" {
		return
	}
	problem := "not a directory"
	if info, err := os.Stat(dir); err != nil {
		problem = pathlessError(err)
	} else if info.IsDir() {
		return
	}
	l.addWarning(
		document.Position{File: dir}, WarnUnread, "", "is not read: "+problem+"; CAIRN_CONFIG_DIR names this directory",
	)
}

// managedSources returns the administrator's sources, the highest layer.
func (l *loader) managedSources() []source {
	var s sourceList
	for _, dir := range l.dirs.Managed {
		s.addDirectory(document.LayerUser, dir, bothFiles)
	}
	return s
}

// readsProject reports whether a project's files are read at all.
func (l *loader) readsProject() bool {
	return l.opts.Directory != "" && !IsSwitchOn(l.getenv, "DISABLE_PROJECT_CONFIG")
}

var (
	openCodeFiles = []string{"opencode.json", "opencode.jsonc"}
	cairnFiles    = []string{"cairn.json", "cairn.jsonc"}
	bothFiles     = []string{"opencode.json", "opencode.jsonc", "cairn.json", "cairn.jsonc"}
)

// isOpenCodeFile reports whether the file is one that OpenCode reads, too.
func (l *loader) isOpenCodeFile(path string) bool {
	return slices.Contains(openCodeFiles, filepath.Base(path)) || filepath.Dir(path) == l.dirs.Foreign
}

type sourceList []source

// addDirectory adds a directory of configuration: its files, then its folders of Markdown files.
func (s *sourceList) addDirectory(sc document.Layer, dir string, names []string) {
	s.addFiles(sc, dir, names...)
	s.addFolders(sc, dir)
}

func (s *sourceList) addFiles(sc document.Layer, dir string, names ...string) {
	for _, name := range names {
		if dir != "" {
			*s = append(*s, source{path: filepath.Join(dir, name), layer: sc})
		}
	}
}

func (s *sourceList) addFolders(sc document.Layer, dir string) {
	for _, part := range []string{document.PartCommand, document.PartAgent, document.PartMode} {
		for _, name := range []string{part, part + "s"} {
			if dir != "" {
				*s = append(*s, source{path: filepath.Join(dir, name), layer: sc, part: part})
			}
		}
	}
}

// listAncestors returns the directories from top down to dir. Outside of top, or without one, it is dir alone.
func listAncestors(dir, top string) []string {
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

// expandPath makes a path absolute: "~" is the home directory, relative paths start at dir.
func (l *loader) expandPath(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') && l.dirs.Home != "" {
		return filepath.Join(l.dirs.Home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// resolveShell makes the document's shell absolute if it is a path; relative to the current directory it would name a
// different program each time. An organisation's document has no directory, so a relative path in it is an error.
func (l *loader) resolveShell(d *document.Document) error {
	n := d.Root.Get("shell")
	if n == nil || n.Kind != '"' || d.Dir == "" || filepath.IsAbs(n.Text) ||
		!strings.ContainsAny(n.Text, "/"+string(filepath.Separator)) {
		return nil
	}
	if d.Remote != nil {
		return d.NewError(n.Offset, "shell", "want the name of a program or an absolute path, got %s", n.FormatExcerpt())
	}
	n.Text = l.expandPath(n.Text, d.Dir)
	return nil
}

// errNoFile means that the path is a directory, a device, a pipe or a socket.
var errNoFile = errors.New("not a regular file")

// isOptional reports whether loading continues without a source that cannot be read. A project's unreadable file must
// not stop cairn. A user's file must: it may contain permission rules.
func (s source) isOptional(err error) bool {
	return !s.required && (s.layer == document.LayerProject || s.part != "" && errors.Is(err, errNoFile))
}

// readFile returns the content of a regular file of limited size and records its state. Opening never blocks, also not
// on a pipe.
func (l *loader) readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		l.addStamp(path)                   // an unreadable file differs from a missing one
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
	raw, err := io.ReadAll(io.LimitReader(f, document.MaxSize+1))
	if err == nil && len(raw) > document.MaxSize {
		return nil, fmt.Errorf("the file is longer than the limit of %d bytes", document.MaxSize)
	}
	return raw, err
}

// pathlessError returns the text of an error without its path, for messages that begin with the path.
func pathlessError(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// isMissing reports whether the file does not exist, also because a parent is not a directory.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
