package workpath

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errReplaced means that a path changes while it is moved.
var errReplaced = errors.New("it changes meanwhile")

// HoldPath moves a file or directory that a command created below a writable directory to a new folder in dir, and
// returns its path there. It moves nothing that lies outside: if a link on the way leads there, it moves the link. The
// command may go on meanwhile and replace what it can, so every directory is opened without following links.
func HoldPath(path string, writable []string, dir string) (string, error) {
	const maxLinks = 8
	for range maxLinks {
		base, rest, ok := splitWritable(path, writable)
		if !ok {
			return "", errors.New("it is outside of the writable directories")
		}
		parent, name, below, err := openHolder(base, rest)
		if err != nil {
			return "", err
		}
		real, err := filepath.EvalSymlinks(filepath.Join(parent.Name(), name))
		if _, _, inside := splitWritable(real, writable); below != "" && err == nil && inside {
			_ = parent.Close() // it was only read
			path = filepath.Join(real, below)
			continue
		}
		to, err := moveToFolder(parent, name, dir)
		return to, errors.Join(err, parent.Close())
	}
	return "", errReplaced
}

// splitWritable returns the writable directory that contains the path, without links, and the rest of the path.
func splitWritable(path string, writable []string) (base, rest string, ok bool) {
	for _, w := range writable {
		real, err := filepath.EvalSymlinks(w)
		if err != nil {
			continue
		}
		for _, top := range []string{w, real} {
			if rel, inside := RelativeTo(top, path); inside && rel != "." && len(real) > len(base) {
				base, rest, ok = real, rel, true
			}
		}
	}
	return base, rest, ok
}

// openHolder opens the directory below base that contains the path rest, and returns the name in it. If a link is on
// the way, it is the one that contains the link, and below is what follows the link's name.
func openHolder(base, rest string) (parent *os.Root, name, below string, err error) {
	if parent, err = os.OpenRoot(base); err != nil {
		return nil, "", "", err
	}
	parts := strings.Split(rest, string(filepath.Separator))
	for i, part := range parts[:len(parts)-1] {
		named, err := parent.Lstat(part)
		if err != nil {
			return nil, "", "", errors.Join(err, parent.Close())
		}
		if named.Mode()&fs.ModeSymlink != 0 {
			return parent, part, filepath.Join(parts[i+1:]...), nil
		}
		sub, err := parent.OpenRoot(part)
		_ = parent.Close() // it was only read
		if err != nil {
			return nil, "", "", err
		}
		opened, err := sub.Stat(".")
		if err != nil || !os.SameFile(named, opened) {
			return nil, "", "", errors.Join(cmp.Or(err, errReplaced), sub.Close())
		}
		parent = sub
	}
	return parent, parts[len(parts)-1], "", nil
}

// moveToFolder moves a file, a link or a directory of parent to a new folder in dir and returns its path there. Across
// file systems it makes a copy first.
func moveToFolder(parent *os.Root, name, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(dir, "")
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, name)
	if renameFrom(parent, name, to) == nil {
		return to, nil
	}
	if err := copyPath(parent, name, to); err != nil {
		return "", err
	}
	return to, parent.RemoveAll(name)
}

// copyPath copies a file, a link or a directory of root to a new path.
func copyPath(root *os.Root, name, to string) error {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		dir, err := root.OpenRoot(name)
		if err != nil {
			return err
		}
		defer func() { _ = dir.Close() }()
		return os.CopyFS(to, dir.FS())
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return cmp.Or(err, os.Symlink(target, to))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", name)
	}
	from, err := root.Open(name)
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
