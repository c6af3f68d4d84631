package project

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/cairn-dev/cairn/internal/fileattr"
)

// replaceFiles makes files what they are in the source, or clean: all, or with an error as they were. All new contents are
// written before the first file is replaced, and what is replaced keeps a second name until the end, so that also a full
// disk changes nothing. New directories are no more open than those of the other working tree.
func replaceFiles(root, other *os.Root, files []copiedFile, clean bool) (err error) {
	var undo []func() error // of what was done
	var litter []string     // files to remove at the end, which may have another name by then
	id := rand.Text()       // of this call: two at a time share no file
	defer func() {
		if err != nil {
			for _, f := range slices.Backward(undo) {
				if failed := f(); failed != nil { // a second name may be the only one
					err = errors.Join(err, failed)
					return
				}
			}
		}
		for _, name := range litter {
			_ = root.Remove(name)
		}
		if err == nil { // the second names are gone, so that a directory can be empty
			removeEmpty(root, files, clean)
		}
	}()
	// Write the new contents beside the files.
	for i, one := range files {
		next := one.next(clean)
		if next.isNothing() {
			continue
		}
		if err := makeDirectories(root, other, path.Dir(one.name)); err != nil {
			return err
		}
		name := sideName(one.name, sideNew, id, i)
		if err := writeContent(root, name, next); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		litter = append(litter, name)
	}
	// Put them in place.
	for i, one := range files {
		old := sideName(one.name, sideOld, id, i)
		isNew := one.next(!clean).isNothing()
		if !isNew {
			if err := keepSecondName(root, one.name, old); err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			litter = append(litter, old)
		}
		if one.next(clean).isNothing() {
			err = root.Remove(one.name)
		} else {
			err = root.Rename(sideName(one.name, sideNew, id, i), one.name)
		}
		undo = append(undo, func() error {
			if isNew {
				return ignoreMissing(root.Remove(one.name))
			}
			return root.Rename(old, one.name)
		})
		if err = ignoreMissing(err); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// makeDirectories makes the missing directories of a path, with the permissions that they have in the other working tree.
func makeDirectories(root, other *os.Root, dir string) error {
	if _, err := root.Stat(dir); dir == "." || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDirectories(root, other, path.Dir(dir)); err != nil {
		return err
	}
	mode := fs.FileMode(0o777)
	if info, err := other.Stat(dir); err == nil && info.IsDir() {
		mode = info.Mode().Perm() | 0o700
	}
	if err := root.Mkdir(dir, mode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// next returns what a file becomes.
func (c *copiedFile) next(clean bool) fileContent {
	if !clean {
		return c.changed
	}
	out := c.clean
	if c.changed.kind() == c.clean.kind() { // the permissions are the file's own
		out.mode = c.changed.mode
	}
	return out
}

// keepSecondName gives a file a second name, or only that one where a file can have one name only.
func keepSecondName(root *os.Root, name, second string) error {
	if err := root.Link(name, second); err == nil {
		return nil
	}
	return root.Rename(name, second)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeEmpty removes the directories that were left empty, as git does.
func removeEmpty(root *os.Root, files []copiedFile, clean bool) {
	for _, one := range files {
		for dir := path.Dir(one.name); one.next(clean).isNothing() && dir != "."; dir = path.Dir(dir) {
			if root.Remove(dir) != nil { // it is not empty
				break
			}
		}
	}
}

// sidePrefix begins the names of files that replaceFiles makes.
const sidePrefix = ".cairn-move-"

// sideName returns a name beside a file for its new or old content.
func sideName(name, kind, id string, i int) string {
	return path.Join(path.Dir(name), fmt.Sprintf("%s%s-%d-%s-%d", sidePrefix, kind, os.Getpid(), id, i))
}

// The kinds of files that replaceFiles makes.
const (
	sideNew = "new" // a new content
	sideOld = "old" // a second name of what is replaced
)

// findAbandoned returns which kind of file of replaceFiles a path is, "" for none, and whether its process has ended.
func findAbandoned(name string) (kind string, isAbandoned bool) {
	var pid int
	if _, err := fmt.Sscanf(filepath.Base(name), sidePrefix+"%3s-%d-", &kind, &pid); err != nil {
		return "", false
	}
	p, err := os.FindProcess(pid)
	return kind, err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// removeAbandoned removes a file that replaceFiles wrote beside another one if its process was killed, and reports whether
// it did. The only name of a file stays.
func removeAbandoned(name string) bool {
	kind, isAbandoned := findAbandoned(name)
	info, err := os.Lstat(name)
	// If it cannot be removed, the next move tries again.
	return isAbandoned && err == nil && (kind == sideNew || fileattr.CountLinks(info) > 1) && os.Remove(name) == nil
}

// writeContent creates a file. With an error it leaves none behind.
func writeContent(root *os.Root, name string, c fileContent) error {
	if c.mode == fs.ModeSymlink {
		return root.Symlink(string(c.data), name)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(c.data)
	if err = errors.Join(err, f.Chmod(c.mode.Perm()), f.Close()); err != nil {
		err = errors.Join(err, root.Remove(name))
	}
	return err
}
