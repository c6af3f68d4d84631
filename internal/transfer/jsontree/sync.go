package jsontree

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"
)

// unsynced is what a Tree has written, or found to be as it should, since its last Sync. What was found counts, too: a
// process that was killed may have written it without a sync.
type unsynced struct {
	mu      sync.Mutex
	files   map[string]bool
	folders map[string]bool // with a new, replaced or removed entry
}

// The bounds of what waits for a sync.
const (
	maxUnsynced = 4096 // files; then a write waits for a sync
	maxSingly   = 32   // files; with IsBulk more are synced with the whole file system, if the system can do that
)

// note adds a file that was written, or only its folder if it was removed. It reports whether a sync is due.
func (u *unsynced) note(name string, removed bool) (due bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.files == nil {
		u.files, u.folders = map[string]bool{}, map[string]bool{}
	}
	if !removed {
		u.files[name] = true
	}
	// The folders above may be new.
	for dir := path.Dir(name); dir != "." && !u.folders[dir]; dir = path.Dir(dir) {
		u.folders[dir] = true
	}
	return len(u.files)+len(u.folders) >= maxUnsynced
}

// take returns what is to be synced, and forgets it.
func (u *unsynced) take() (files, folders map[string]bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	files, folders = u.files, u.folders
	u.files, u.folders = nil, nil
	return files, folders
}

// Sync waits until the changes of this Tree are on the disk. After an error they may be lost by a power cut, and must be
// made again.
func (t *Tree) Sync() error {
	files, folders := t.unsynced.take()
	if t.IsBulk && len(files) > maxSingly {
		if done, err := t.syncFileSystem(); done {
			return err
		}
	}
	for name := range files {
		if err := t.syncFile(name, os.O_RDWR); err != nil {
			return err
		}
	}
	if !canSyncFolders {
		return nil
	}
	for name := range folders {
		if err := t.syncFile(name, os.O_RDONLY); err != nil {
			return err
		}
	}
	return nil
}

// syncFile syncs a file or folder. One that is gone, or replaced by something else, needs no sync: its folder was
// changed then.
func (t *Tree) syncFile(name string, flag int) error {
	if info, err := t.root.Lstat(name); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return ignoreMissing(err)
	}
	f, err := t.root.OpenFile(name, flag, 0)
	if err != nil {
		return ignoreMissing(err)
	}
	return errors.Join(f.Sync(), f.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
