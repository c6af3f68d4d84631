package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/session"
)

// errDirectory is the error of Restore where a directory with other files is in the way. Force does not help.
var errDirectory = errors.New("a directory with other files is there; move them away first")

// Restore implements scope.Worktree. Files are removed before others are written, as a directory of the same name
// may follow. Directories that become empty stay.
func (w *DiskWorktree) Restore(ctx context.Context, steps []session.FileChange) []error {
	out := make([]error, len(steps))
	root, err := os.OpenRoot(w.root)
	if err != nil {
		for i := range out {
			out[i] = err
		}
		return out
	}
	defer root.Close()
	for _, removals := range []bool{true, false} {
		for i, s := range steps {
			if s.After.IsAbsent() != removals {
				continue
			}
			if out[i] = context.Cause(ctx); ctx.Err() == nil {
				out[i] = w.restoreFile(root, s)
			}
		}
	}
	return out
}

// restoreFile makes one change. A file in the state After, and a directory where nothing is to be, stay as they are; a
// directory without files makes way for a file.
func (w *DiskWorktree) restoreFile(root *os.Root, s session.FileChange) error {
	// Decide by what the path holds now.
	now, err := readState(root, string(s.Path))
	switch {
	case err != nil:
		return err
	case now == s.After || now.Mode == modeDirectory && s.After.IsAbsent():
		return nil
	case now != s.Before && (now.Mode != modeDirectory || !s.Before.IsAbsent()):
		return session.ErrFileChanged
	case s.After.Blob == "" && !s.After.IsAbsent() || s.After.Mode == session.ModeSubmodule:
		return fmt.Errorf("%s cannot be restored: it was neither a file nor a link", s.Path)
	}
	// Remove the file, or make way for it and write it.
	dir, err := openDirectory(root, path.Dir(string(s.Path)), !s.After.IsAbsent())
	if err != nil {
		return err
	}
	defer dir.Close()
	s.Path = session.FilePath(path.Base(string(s.Path)))
	if s.After.IsAbsent() {
		return removeFile(dir, s)
	}
	if now.Mode == modeDirectory {
		if err := removeEmpty(dir, string(s.Path)); err != nil {
			return err
		}
	}
	content, err := w.options.Blobs.Read(s.After.Blob, MaxBlob)
	if err != nil {
		return err
	}
	return replaceFile(dir, s, content)
}

// removeFile removes a file in root if it is in the state Before.
func removeFile(root *os.Root, s session.FileChange) error {
	if now, err := readState(root, string(s.Path)); err != nil || now != s.Before {
		return errors.Join(session.ErrFileChanged, err)
	}
	return root.Remove(string(s.Path))
}

// openDirectory opens a directory below root. It follows no link, also none that replaces a directory meanwhile. With
// create it makes missing directories.
func openDirectory(root *os.Root, name string, create bool) (*os.Root, error) {
	dir, err := root.OpenRoot(".")
	for _, part := range strings.Split(name, "/") {
		if err != nil {
			return nil, err
		}
		var sub *os.Root
		sub, err = openSubdirectory(dir, part, create)
		_ = dir.Close() // it was only read
		dir = sub
	}
	return dir, err
}

// openSubdirectory opens a directory in root.
func openSubdirectory(root *os.Root, name string, create bool) (*os.Root, error) {
	// Create the directory if it is missing; another process may have created it first.
	named, err := root.Lstat(name)
	if create && errors.Is(err, fs.ErrNotExist) {
		above, statErr := root.Stat(".")
		if err = errors.Join(statErr, root.Mkdir(name, 0o777)); err == nil {
			fileattr.CopyOwner(root, name, above)
		}
		if err == nil || errors.Is(err, fs.ErrExist) {
			named, err = root.Lstat(name)
		}
	}
	if err != nil {
		return nil, err
	}
	// A link to a directory is refused, also one that replaces the directory while it is opened.
	noDirectory := &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	if !named.IsDir() {
		return nil, noDirectory
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := sub.Stat("."); err != nil || !os.SameFile(named, opened) {
		return nil, errors.Join(noDirectory, err, sub.Close())
	}
	return sub, nil
}

// replaceFile writes the content to a temporary file in root and renames it to the path. The state of the path is
// checked again immediately before; the owner of the file that was there is kept, and its permissions, unless s has
// some. A new file has the owner of its directory. A file with other names (hard links) is overwritten in place.
func replaceFile(root *os.Root, s session.FileChange, content []byte) error {
	name := string(s.Path)
	old, err := root.Lstat(name)
	if err == nil && fileattr.CountLinks(old) > 1 && s.After.Mode != session.ModeLink {
		return overwriteFile(root, s, content)
	}
	// A fixed name: a process that repeats what another one began replaces its temporary file.
	temp := ".cairn-" + blobID([]byte(name)) + ".tmp"
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Choose the permissions: those of s, else those of the file that is replaced, else the default ones.
	perm, replaces := fs.FileMode(0o666), false
	if s.After.Mode == session.ModeExecutable {
		perm = 0o777
	}
	if err == nil && old.Mode().IsRegular() {
		perm, replaces = cmp.Or(fs.FileMode(s.Perm).Perm(), old.Mode().Perm()), true
		perm = changeExecutable(perm, s.After.Mode)
	} else if old, err = root.Stat("."); err != nil {
		return err
	} else if s.Perm != 0 {
		perm, replaces = changeExecutable(fs.FileMode(s.Perm).Perm(), s.After.Mode), true
	}
	if s.After.Mode == session.ModeLink {
		perm, replaces = fs.ModeSymlink, false
	}
	// Write the temporary file, and rename it if the path is still in the state Before.
	if err := writeFile(root, temp, content, perm|0o200); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	fileattr.CopyOwner(root, temp, old)
	if replaces {
		_ = root.Chmod(temp, perm) // without the umask
	}
	if again, err := readState(root, name); err != nil || again != s.Before {
		return errors.Join(session.ErrFileChanged, err, root.Remove(temp))
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// removeEmpty removes a directory and the empty directories in it. If one of them has a file, it is errDirectory.
func removeEmpty(root *os.Root, name string) error {
	entries, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return errDirectory
		}
		if err := removeEmpty(root, path.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return root.Remove(name)
}

// overwriteFile writes the content to a file in root that has other names as well.
func overwriteFile(root *os.Root, s session.FileChange, content []byte) error {
	name := string(s.Path)
	f, err := root.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if again, err := readState(root, name); err != nil || again != s.Before {
		return errors.Join(session.ErrFileChanged, err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	return errors.Join(
		err, f.Truncate(int64(len(content))), f.Chmod(changeExecutable(info.Mode().Perm(), s.After.Mode)), f.Sync(),
	)
}

// changeExecutable returns perm with execute permission for all that can read, if the mode is that of a program, and
// else without.
func changeExecutable(perm fs.FileMode, mode uint32) fs.FileMode {
	if perm &^= 0o111; mode == session.ModeExecutable {
		perm |= perm >> 2 & 0o111
	}
	return perm
}

// writeFile creates a file with at most the permissions of mode, or a link, which must not exist, and syncs it.
func writeFile(root *os.Root, name string, content []byte, mode fs.FileMode) error {
	if mode&fs.ModeSymlink != 0 {
		return root.Symlink(string(content), name)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}
