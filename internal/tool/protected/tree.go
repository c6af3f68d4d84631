package protected

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"unicode/utf8"
)

// Bounds of the copies of protected files. A path with more is not copied.
const (
	maxSavedFiles = 500     // of one path
	maxSavedBytes = 4 << 20 // of one path
	maxAllFiles   = 2000
	maxAllBytes   = 16 << 20

	savedLimits = "500 files and 4 MiB of one path, 2000 files and 16 MiB in all"
)

// SavedTree is a copy of a file or a directory.
type SavedTree struct {
	Link  string      // the target, if the path is a link; Files are what it leads to then
	Files []SavedFile `json:",omitzero"` // each directory before what is in it
}

// SavedFile is a copy of a file, a link or a directory.
type SavedFile struct {
	Name    string // below the path; "." for the path itself
	Mode    fs.FileMode
	Owner   [2]int
	Content []byte `json:",omitzero"`
	Link    string
}

var errTooLarge = errors.New("it is larger than " + savedLimits)

// saveTree returns a copy of what a path leads to, and its size in bytes.
func saveTree(path string) (t SavedTree, size int, err error) {
	// Resolve the path. A link is recorded with its target; one to nothing has no content.
	t.Link, _ = os.Readlink(path)
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return t, 0, nil //nolint:nilerr // a link to nothing
	}
	root, err := os.OpenRoot(filepath.Dir(target))
	if err != nil {
		return t, 0, err
	}
	defer func() { _ = root.Close() }()
	// Copy the tree within the limits of files and bytes.
	base := filepath.Base(target)
	err = fs.WalkDir(root.FS(), base, func(name string, e fs.DirEntry, err error) error {
		if err != nil || len(t.Files) == maxSavedFiles {
			return errors.Join(err, errTooLarge)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(base, name)
		if err != nil {
			return err
		}
		if !utf8.ValidString(name) {
			return errors.New("its name is no text")
		}
		// Keep the metadata of each entry, with the content of files and the target of links.
		f := SavedFile{Name: rel, Mode: info.Mode(), Owner: findOwner(info)}
		switch {
		case f.Mode&fs.ModeSymlink != 0:
			f.Link, err = root.Readlink(name)
		case f.Mode.IsRegular():
			if size += int(min(info.Size(), maxSavedBytes+1)); size > maxSavedBytes {
				return errTooLarge
			}
			f.Content, err = root.ReadFile(name)
		}
		t.Files = append(t.Files, f)
		return err
	})
	return t, size, err
}

// isAt reports whether the path leads to the same content, with the same modes.
func (t SavedTree) isAt(path string) bool {
	now, _, err := saveTree(path)
	return err == nil && reflect.DeepEqual(now, t)
}

// write makes the tree at a path below a writable directory, where nothing is.
func (t SavedTree) write(path string, writable []string) error {
	h, err := openForWriting(path, writable)
	if err != nil {
		return err
	}
	defer func() { _ = h.close() }()
	root := h.parent
	if t.Link != "" {
		return root.Symlink(t.Link, h.name)
	}
	for _, f := range t.Files {
		if err := f.write(root, filepath.Join(h.name, f.Name)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	for i := len(t.Files) - 1; i >= 0; i-- { // a directory may have to be writable until its files are there
		f, name := t.Files[i], filepath.Join(h.name, t.Files[i].Name)
		if f.Owner[0] != os.Getuid() {
			_ = root.Lchown(name, f.Owner[0], f.Owner[1])
		}
		if f.Mode.IsDir() || f.Mode.IsRegular() {
			if err := root.Chmod(name, f.Mode.Perm()); err != nil {
				return err
			}
		}
	}
	return nil
}

// openForWriting opens the directory that is to contain a path, and makes the missing ones above. The caller closes it.
func openForWriting(path string, writable []string) (*holder, error) {
	top, rest, ok := findTop(path, writable)
	if !ok {
		return nil, errOutside
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	_ = root.MkdirAll(filepath.Dir(rest), 0o755) //nolint:gosec // of a project; if it fails, the next step does
	_ = root.Close()
	if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(parent, filepath.Base(path))
	}
	if top, rest, ok = findTop(path, writable); !ok {
		return nil, errOutside
	}
	h, err := openHolder(top, rest)
	if err == nil && h.below != "" {
		err = errReplaced
	}
	if err == nil {
		err = h.allowAccess()
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// write makes the file in root. Devices, sockets and pipes are left out.
func (f SavedFile) write(root *os.Root, name string) error {
	switch {
	case f.Mode.IsDir():
		return root.Mkdir(name, 0o700)
	case f.Mode&fs.ModeSymlink != 0:
		return root.Symlink(f.Link, name)
	case !f.Mode.IsRegular():
		return nil
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode.Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Content)
	return errors.Join(err, out.Close())
}
