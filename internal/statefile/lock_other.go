//go:build !unix

package statefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Lock creates the lock file for this process. It waits until ctx ends, or 10 s if ctx has no deadline. A file that a
// dead process left must be removed by hand, as the error says.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	why := errors.New("another process holds the lock; remove it if none runs")
	ctx, cancel := withLockTimeout(ctx, why)
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return func() { _ = os.Remove(path) }, f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w", path, context.Cause(ctx))
		case <-retry.C:
		}
	}
}

// LockShared is Lock: on this system readers wait for one another, too.
func LockShared(ctx context.Context, path string) (unlock func(), err error) { return Lock(ctx, path) }
