package builtin

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/tool"
)

// enter opens the directory that holds the place, without following a single link on the way: the path was resolved
// before, so a link met now was put there since, and what the rules allowed is not what is there. With create, missing
// directories are made. The caller closes the handle.
func (p place) enter(create bool) (*os.Root, error) {
	dir := filepath.Dir(p.real)
	if !p.inside() {
		return enterOutside(dir, create)
	}
	rel, ok := below(p.root, dir)
	if !ok {
		return nil, tool.Failf("%s is the root of this place, not a file.", p.abs)
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, openFailure(p.root, err)
	}
	return descend(root, rel, create)
}

// enterDir opens the place itself as a directory.
func (p place) enterDir() (*os.Root, error) {
	if !p.inside() {
		return enterOutside(p.real, false)
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, openFailure(p.root, err)
	}
	return descend(root, filepath.FromSlash(p.rel), false)
}

// enterOutside opens a directory outside, which was asked for by its real path, and checks that it still is that one.
func enterOutside(dir string, create bool) (*os.Root, error) {
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
		return nil, openFailure(base, err)
	}
	opened, err := root.Stat(".")
	if err != nil {
		return nil, closing(root, openFailure(base, err))
	}
	named, err := os.Lstat(base)
	real, evalErr := filepath.EvalSymlinks(base)
	if err != nil || evalErr != nil || real != base || !os.SameFile(opened, named) {
		return nil, closing(root, moved(base))
	}
	return descend(root, missing, create)
}

// descend goes down from root, which it closes or returns.
func descend(root *os.Root, rel string, create bool) (*os.Root, error) {
	if rel == "." || rel == "" {
		return root, nil
	}
	for name := range strings.SplitSeq(filepath.Clean(rel), string(filepath.Separator)) {
		sub, err := into(root, name, create)
		_ = root.Close()
		if err != nil {
			return nil, err
		}
		root = sub
	}
	return root, nil
}

// into opens one directory by name and makes sure that the name was no link.
func into(root *os.Root, name string, create bool) (*os.Root, error) {
	path := filepath.Join(root.Name(), name)
	named, err := root.Lstat(name)
	if create && os.IsNotExist(err) {
		if err = root.Mkdir(name, 0o777); err == nil || os.IsExist(err) {
			named, err = root.Lstat(name)
		}
	}
	if err != nil {
		return nil, openFailure(path, err)
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, moved(path)
	}
	if !named.IsDir() {
		return nil, tool.Failf("%s is not a directory.", path)
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, openFailure(path, err)
	}
	opened, err := sub.Stat(".")
	if err != nil || !os.SameFile(named, opened) {
		return nil, closing(sub, moved(path))
	}
	return sub, nil
}

// openRegular opens a regular file in dir for reading. Pipes, sockets and devices are refused without waiting for
// them; a link is refused because the name was resolved before.
func openRegular(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	path := filepath.Join(dir.Name(), name)
	named, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, openFailure(path, err)
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, nil, moved(path)
	}
	if !named.Mode().IsRegular() {
		return nil, nil, tool.Failf("%s is %s, not a regular file.", path, kindOf(named.Mode()))
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, openFailure(path, err)
	}
	opened, err := f.Stat()
	if err != nil || !os.SameFile(named, opened) || !opened.Mode().IsRegular() {
		_ = f.Close()
		return nil, nil, moved(path)
	}
	return f, opened, nil
}

// open opens the place for reading.
func (p place) open() (*os.File, fs.FileInfo, error) {
	dir, err := p.enter(false)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = dir.Close() }()
	return openRegular(dir, filepath.Base(p.real))
}

func moved(path string) error {
	return tool.Failf("%s changed while it was being opened. Look again and repeat the call.", path)
}

func openFailure(path string, err error) error {
	switch {
	case os.IsNotExist(err):
		return tool.Failf("File not found: %s", path)
	case os.IsPermission(err):
		return tool.Failf("%s cannot be opened: the operating system refuses it.", path)
	default:
		return tool.Failf("%s cannot be opened: %v.", path, cause(err))
	}
}

func closing(root *os.Root, err error) error {
	_ = root.Close()
	return err
}

func kindOf(m fs.FileMode) string {
	switch {
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
