package statefile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// Lock takes the lock file for this process. It waits until ctx ends, or 10 s if ctx has no deadline. The system
// releases the lock if the holder dies. A file that is open cannot be removed here.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	return lock(ctx, path, windows.LOCKFILE_EXCLUSIVE_LOCK)
}

// LockShared is Lock for readers: any number of them hold the lock together, and none while Lock holds it.
func LockShared(ctx context.Context, path string) (unlock func(), err error) {
	return lock(ctx, path, 0)
}

// RemoveLock removes a lock file that this process holds, and releases it. The file stays if another process waits for it.
func RemoveLock(path string, unlock func()) {
	unlock()
	_ = os.Remove(path)
}

func lock(ctx context.Context, path string, how uint32) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := withLockTimeout(ctx, errors.New("another process holds the lock"))
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		err := windows.LockFileEx(
			windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{},
		)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, context.Cause(ctx)), f.Close())
		case <-retry.C:
		}
	}
}
