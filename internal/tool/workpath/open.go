package workpath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Open opens a regular file for reading.
func (p Path) Open() (*os.File, fs.FileInfo, error) {
	dir, err := p.OpenParent(false)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = dir.Close() }()
	return openRegular(dir, filepath.Base(p.Real))
}

// OpenParent opens the directory that contains the path. It follows no link: the path is resolved, so a link found now
// was created since, and the permission does not cover its target. With create it makes missing directories.
func (p Path) OpenParent(create bool) (*os.Root, error) {
	dir := filepath.Dir(p.Real)
	if !p.IsInside() {
		return openOutside(dir, create)
	}
	rel, ok := RelativeTo(p.Root, dir)
	if !ok {
		return nil, tool.Failf("%s is the root of the project, not a file.", p.Abs)
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, FailOpen(p.Root, err)
	}
	return openBelow(root, rel, create)
}

// OpenDir opens the path as a directory. It follows no link.
func (p Path) OpenDir() (*os.Root, error) {
	if !p.IsInside() {
		return openOutside(p.Real, false)
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, FailOpen(p.Root, err)
	}
	return openBelow(root, filepath.FromSlash(p.Rel), false)
}

// openOutside opens a directory outside of the Location by its real path, and checks that the path still is real.
func openOutside(dir string, create bool) (*os.Root, error) {
	base, missing := dir, "."
	for create {
		if _, err := os.Lstat(base); err == nil || base == filepath.Dir(base) {
			break
		}
		missing = filepath.Join(filepath.Base(base), missing)
		base = filepath.Dir(base)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, FailOpen(base, err)
	}
	opened, err := root.Stat(".")
	if err != nil {
		return nil, closeWith(root, FailOpen(base, err))
	}
	named, err := os.Lstat(base)
	real, evalErr := filepath.EvalSymlinks(base)
	if err != nil || evalErr != nil || real != base || !os.SameFile(opened, named) {
		return nil, closeWith(root, FailMoved(base))
	}
	return openBelow(root, missing, create)
}

// openBelow opens the directory rel below root. It closes root unless it returns it.
func openBelow(root *os.Root, rel string, create bool) (*os.Root, error) {
	if rel == "." || rel == "" {
		return root, nil
	}
	for name := range strings.SplitSeq(filepath.Clean(rel), string(filepath.Separator)) {
		sub, err := openSubdir(root, name, create)
		_ = root.Close()
		if err != nil {
			return nil, err
		}
		root = sub
	}
	return root, nil
}

// openSubdir opens a directory in root and makes sure that its name is not a link.
func openSubdir(root *os.Root, name string, create bool) (*os.Root, error) {
	path := filepath.Join(root.Name(), name)
	named, err := root.Lstat(name)
	if create && os.IsNotExist(err) {
		if err = root.Mkdir(name, 0o777); err == nil || os.IsExist(err) {
			named, err = root.Lstat(name)
		}
	}
	if err != nil {
		return nil, FailOpen(path, err)
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, FailMoved(path)
	}
	if !named.IsDir() {
		return nil, tool.Failf("%s is not a directory.", path)
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, FailOpen(path, err)
	}
	opened, err := sub.Stat(".")
	if err != nil || !os.SameFile(named, opened) {
		return nil, closeWith(sub, FailMoved(path))
	}
	return sub, nil
}

// openRegular opens a regular file in dir for reading. It refuses pipes, sockets and devices without blocking on them,
// and links, because the name is resolved.
func openRegular(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	path := filepath.Join(dir.Name(), name)
	named, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, FailOpen(path, err)
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, nil, FailMoved(path)
	}
	if !named.Mode().IsRegular() {
		return nil, nil, tool.Failf("%s is %s, not a regular file.", path, describeMode(named.Mode()))
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, FailOpen(path, err)
	}
	opened, err := f.Stat()
	if err != nil || !os.SameFile(named, opened) || !opened.Mode().IsRegular() {
		_ = f.Close()
		return nil, nil, FailMoved(path)
	}
	return f, opened, nil
}

// maxEntries bounds the entries that ReadEntries returns.
const maxEntries = 50_000

// ReadEntries returns the entries of a directory sorted by name, and whether the directory has more than it returns.
func ReadEntries(dir *os.Root) (entries []fs.DirEntry, more bool, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	entries, err = f.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	more = len(entries) > maxEntries
	entries = entries[:min(len(entries), maxEntries)]
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

// DisplayName returns the name of an entry, with a slash for a directory and for a link to a directory within dir.
func DisplayName(dir *os.Root, e fs.DirEntry) string {
	name := e.Name()
	if e.IsDir() {
		return name + "/"
	}
	if e.Type()&fs.ModeSymlink != 0 {
		if info, err := dir.Stat(name); err == nil && info.IsDir() {
			return name + "/"
		}
	}
	return name
}

// FailMoved returns the error for the model that a path changed after it was resolved.
func FailMoved(path string) error {
	return tool.Failf("%s changed while it was being opened. Look again and repeat the call.", path)
}

// FailOpen returns the error for the model that a path cannot be opened.
func FailOpen(path string, err error) error {
	switch {
	case os.IsNotExist(err):
		return tool.Failf("File not found: %s", path)
	case os.IsPermission(err):
		return tool.Failf("%s cannot be opened: the operating system refuses it.", path)
	default:
		return tool.Failf("%s cannot be opened: %v.", path, FileErrorCause(err))
	}
}

// closeWith closes root and returns err.
func closeWith(root *os.Root, err error) error {
	_ = root.Close()
	return err
}

func describeMode(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	default:
		return "a special file"
	}
}
