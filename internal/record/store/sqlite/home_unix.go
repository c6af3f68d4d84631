//go:build unix

package sqlite

import (
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// syncDir makes new entries of the folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return newUnavailable("sync folder: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return newUnavailable("sync folder: %w", err)
	}
	return nil
}
