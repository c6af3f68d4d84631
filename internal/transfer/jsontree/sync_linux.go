package jsontree

import (
	"errors"

	"golang.org/x/sys/unix"
)

const canSyncFolders = true

// syncFileSystem syncs the file system of the tree, with one wait for all files. It reports whether it could.
func (t *Tree) syncFileSystem() (done bool, err error) {
	f, err := t.root.Open(storageDir)
	if err != nil {
		return false, nil
	}
	err = unix.Syncfs(int(f.Fd()))
	return true, errors.Join(err, f.Close())
}
