//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks the open file for this process; false means that another process holds the lock.
func lockFile(f *os.File, isShared bool) (bool, error) {
	how := unix.LOCK_EX
	if isShared {
		how = unix.LOCK_SH
	}
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
