package snapshot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// ErrConflict means that a file is not in the state that it was expected in.
var ErrConflict = errors.New("it was changed meanwhile")

// ReadStates implements location.Worktree. A directory holds nothing: what is in it has paths of its own.
func (w *KeptTree) ReadStates(ctx context.Context, paths []session.FilePath) ([]session.PathState, error) {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	out := make([]session.PathState, len(paths))
	for i, p := range paths {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if out[i], err = readState(root, string(p)); err != nil {
			return nil, err
		}
		if out[i].Mode == modeDirectory {
			out[i] = session.PathState{}
		}
	}
	return out, nil
}

// Save implements location.Worktree.
func (w *KeptTree) Save(_ context.Context, p session.FilePath) (session.PathState, error) {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return session.PathState{}, err
	}
	defer root.Close()
	return saveFile(root, w.options.Blobs, string(p))
}

// Restore implements location.Worktree. Directories that become empty stay.
func (w *KeptTree) Restore(ctx context.Context, steps []session.FileChange) []error {
	out := make([]error, len(steps))
	root, err := os.OpenRoot(w.root)
	if err != nil {
		for i := range out {
			out[i] = err
		}
		return out
	}
	defer root.Close()
	for _, removals := range []bool{true, false} { // a directory can take the place of a file
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

// restoreFile makes one step. The file is checked again immediately before it is replaced.
func (w *KeptTree) restoreFile(root *os.Root, s session.FileChange) error {
	name := string(s.Path)
	now, err := readState(root, name)
	switch {
	case err != nil:
		return err
	case now == s.After || now.Mode == modeDirectory && s.After.IsAbsent():
		return nil
	case now.Mode == modeDirectory && s.Before.IsAbsent():
		if removeEmpty(root, name) != nil {
			return ErrConflict
		}
	case now != s.Before:
		return ErrConflict
	case s.After.IsAbsent():
		return root.Remove(name)
	case s.After.Blob == "" || s.After.Mode == session.ModeSubmodule:
		return fmt.Errorf("the path %s was no file", name)
	}
	content, err := w.options.Blobs.Read(s.After.Blob, MaxBlob)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := checkParents(root, name); err != nil {
		return err
	}
	// The name is the same every time, so that a process that goes on with what another began leaves none.
	temp := path.Join(dir, ".cairn-"+blobID([]byte(name))+".tmp")
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeFile(root, temp, content, s.After.Mode); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() && s.After.Mode != session.ModeLink {
		_ = root.Chmod(temp, info.Mode().Perm()&^0o111|executableBits(info.Mode().Perm(), s.After.Mode))
	}
	if again, err := readState(root, name); err != nil || again != s.Before {
		return errors.Join(ErrConflict, err, root.Remove(temp))
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// removeEmpty removes a directory that has no files in it.
func removeEmpty(root *os.Root, name string) error {
	entries, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return ErrConflict
		}
		if err := removeEmpty(root, path.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return root.Remove(name)
}

// BackupFile implements location.Worktree. The copy of a link is a file with its target.
func (w *KeptTree) BackupFile(_ context.Context, p session.FilePath) (string, error) {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	state, err := readState(root, string(p))
	if err != nil || state.IsAbsent() || state.Mode == modeDirectory {
		return "", err
	}
	content, err := readContent(root, string(p), state.Mode)
	if err != nil {
		return "", err
	}
	name := strings.ToValidUTF8(string(p), "_") // the place is shown and stored as text
	place := filepath.Join(w.options.Dir, "copies", rand.Text(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return "", err
	}
	return place, statefile.Replace(place, content, 0o600)
}

// executableBits lets everybody execute who can read, if the mode says so.
func executableBits(perm fs.FileMode, mode uint32) fs.FileMode {
	if mode != session.ModeExecutable {
		return 0
	}
	return perm >> 2 & 0o111
}

func writeFile(root *os.Root, name string, content []byte, mode uint32) error {
	if mode == session.ModeLink {
		return root.Symlink(string(content), name)
	}
	perm := fs.FileMode(0o666)
	if mode == session.ModeExecutable {
		perm = 0o777
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}
