package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks a byte far after the content, because Windows prevents others from reading locked bytes.
func lockFile(f *os.File, isShared bool) (bool, error) {
	at, flags := &windows.Overlapped{OffsetHigh: 1}, uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !isShared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
