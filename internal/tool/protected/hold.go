package protected

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

var (
	// errReplaced means that a path changes while it is moved.
	errReplaced = errors.New("it changes meanwhile")
	errOutside  = errors.New("it is outside of the writable directories")
)

// HoldPath moves a file or directory that a command created below a writable directory to a new folder in dir, and
// returns its path there. If there is nothing to move, isMissing is true for the error. It moves nothing that lies
// outside: if a link on the way leads there, it moves the link. The command may go on meanwhile and replace what it
// can, so every directory is opened without following links. One that the command made unwritable or unreadable is made
// accessible meanwhile.
func HoldPath(path string, writable []string, dir string) (moved string, err error) {
	const maxLinks = 8
	for range maxLinks {
		base, rest, ok := findTop(path, writable)
		if !ok {
			return "", errOutside
		}
		h, err := openHolder(base, rest)
		if err != nil {
			return "", errors.Join(err, h.close())
		}
		real, err := filepath.EvalSymlinks(filepath.Join(h.parent.Name(), h.name))
		if _, _, inside := findTop(real, writable); h.below != "" && err == nil && inside {
			_ = h.close() // it was only read
			path = filepath.Join(real, h.below)
			continue
		}
		to, err := h.moveToFolder(dir)
		return to, errors.Join(err, h.close())
	}
	return "", errReplaced
}

// holder is a directory that contains a name to move.
type holder struct {
	parent *os.Root
	name   string
	below  string   // what follows the name in the path, if the name is a link on the way
	undo   []func() // give directories their modes back
	opened []*os.Root
}

// close closes the directory and gives those on the way their modes back.
func (h *holder) close() error {
	for i := len(h.undo) - 1; i >= 0; i-- {
		h.undo[i]()
	}
	var err error
	for _, root := range h.opened {
		err = errors.Join(err, root.Close())
	}
	return err
}

// openHolder opens the directory below base that contains the path rest. If a link is on the way, it is the one that
// contains the link. The caller closes it, also after an error.
func openHolder(base, rest string) (h *holder, err error) {
	h = &holder{}
	if h.parent, err = h.openBase(base); err != nil {
		return h, err
	}
	h.opened = append(h.opened, h.parent)
	parts := strings.Split(rest, string(filepath.Separator))
	for i, part := range parts[:len(parts)-1] {
		named, err := h.parent.Lstat(part)
		if errors.Is(err, fs.ErrPermission) && h.allowAccess() == nil {
			named, err = h.parent.Lstat(part)
		}
		if err != nil {
			return h, err
		}
		if named.Mode()&fs.ModeSymlink != 0 {
			h.name, h.below = part, filepath.Join(parts[i+1:]...)
			return h, nil
		}
		if err := h.enter(part, named); err != nil {
			return h, err
		}
	}
	h.name = parts[len(parts)-1]
	return h, nil
}

// openBase opens a writable directory.
func (h *holder) openBase(base string) (*os.Root, error) {
	root, err := os.OpenRoot(base)
	if !errors.Is(err, fs.ErrPermission) {
		return root, err
	}
	info, err := os.Stat(base)
	if err != nil {
		return nil, err
	}
	mode := info.Mode().Perm()
	h.undo = append(h.undo, func() { _ = os.Chmod(base, mode) })
	if err := os.Chmod(base, mode|0o700); err != nil { //nolint:gosec // its owner's, until the holder is closed
		return nil, err
	}
	return os.OpenRoot(base)
}

// enter makes the directory called part, which named describes, the one of the holder.
func (h *holder) enter(part string, named fs.FileInfo) error {
	if !named.IsDir() {
		return &fs.PathError{Op: "open", Path: part, Err: syscall.ENOTDIR}
	}
	sub, err := h.parent.OpenRoot(part)
	if errors.Is(err, fs.ErrPermission) {
		if err = h.parent.Chmod(part, named.Mode().Perm()|0o700); err == nil {
			sub, err = h.parent.OpenRoot(part)
		}
	}
	if err != nil {
		return err
	}
	h.opened = append(h.opened, sub)
	opened, err := sub.Stat(".")
	if err != nil || !os.SameFile(named, opened) {
		return cmp.Or(err, errReplaced)
	}
	if opened.Mode() != named.Mode() {
		h.undo = append(h.undo, func() { _ = sub.Chmod(".", named.Mode().Perm()) })
	}
	h.parent = sub
	return nil
}

// allowAccess lets the owner of the holder's directory use it until the holder is closed.
func (h *holder) allowAccess() error {
	info, err := h.parent.Stat(".")
	if err != nil {
		return err
	}
	dir, mode := h.parent, info.Mode().Perm()
	h.undo = append(h.undo, func() { _ = dir.Chmod(".", mode) })
	return dir.Chmod(".", mode|0o700)
}

// moveToFolder moves the file, the link or the directory of the holder to a new folder in dir and returns its path
// there. Across file systems it makes a copy first.
func (h *holder) moveToFolder(dir string) (string, error) {
	// Look at the path. Its parent may deny access until its mode is changed.
	info, err := h.parent.Lstat(h.name)
	if errors.Is(err, fs.ErrPermission) && h.allowAccess() == nil {
		info, err = h.parent.Lstat(h.name)
	}
	if err != nil {
		return "", err
	}
	// Make a new folder, so that equal names do not meet.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the folder for it cannot be made: %v", err) //nolint:errorlint // not of the path
	}
	dir, err = os.MkdirTemp(dir, "")
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, h.name)
	// Rename it, or copy and remove it if the file systems differ.
	move := func() error {
		if renameFrom(h.parent, h.name, to) == nil {
			return nil
		}
		if err := cmp.Or(os.RemoveAll(to), copyPath(h.parent, h.name, to)); err != nil {
			return err
		}
		return h.parent.RemoveAll(h.name)
	}
	if info.IsDir() && info.Mode().Perm()&0o700 != 0o700 { // a directory without these cannot be moved
		_ = h.parent.Chmod(h.name, info.Mode().Perm()|0o700)
	}
	// A parent that denies the removal is made accessible for a second try.
	if err = move(); errors.Is(err, fs.ErrPermission) && h.allowAccess() == nil {
		err = move()
	}
	return to, err
}

// copyPath copies a file, a link or a directory of root to a new path, and makes directories accessible for that.
// Devices, sockets and pipes are left out.
func copyPath(root *os.Root, name, to string) error {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		_ = root.Chmod(name, info.Mode().Perm()|0o700)
		return copyDirectory(root, name, to)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return cmp.Or(err, os.Symlink(target, to))
	case !info.Mode().IsRegular():
		return nil
	}
	if info.Mode().Perm()&0o400 == 0 {
		_ = root.Chmod(name, info.Mode().Perm()|0o400)
	}
	from, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return cmp.Or(err, out.Close())
}

// copyDirectory copies the directory called name in root, with what is in it.
func copyDirectory(root *os.Root, name, to string) error {
	dir, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyPath(dir, e.Name(), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
