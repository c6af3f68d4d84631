//go:build unix

package statefile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Lock takes the lock file for this process. It waits until ctx ends, or 10 s if ctx has no deadline. The kernel
// releases the lock if the holder dies. Only a holder may remove the file: who waited for the removed one locks a new one.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	return lock(ctx, path, unix.LOCK_EX)
}

// LockShared is Lock for readers: any number of them hold the lock together, and none while Lock holds it.
func LockShared(ctx context.Context, path string) (unlock func(), err error) {
	return lock(ctx, path, unix.LOCK_SH)
}

// RemoveLock removes a lock file that this process holds, and releases it.
func RemoveLock(path string, unlock func()) {
	_ = os.Remove(path)
	unlock()
}

func lock(ctx context.Context, path string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := withLockTimeout(ctx, errors.New("another process holds the lock"))
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil && isAt(f, path) {
			return func() { _ = f.Close() }, nil
		}
		if err == nil { // it was removed meanwhile
			if err := f.Close(); err != nil {
				return nil, err
			}
			if f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
				return nil, err
			}
			continue
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, context.Cause(ctx)), f.Close())
		case <-retry.C:
		}
	}
}

// isAt reports whether the open file is the one at the path.
func isAt(f *os.File, path string) bool {
	here, err := f.Stat()
	there, serr := os.Stat(path)
	return err == nil && serr == nil && os.SameFile(here, there)
}
