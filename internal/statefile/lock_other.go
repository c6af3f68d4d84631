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

// Lock makes the lock file for this process alone, waiting until ctx ends, 10 s if it says nothing of when. One left by a process that
// died has to be removed by hand; the error says so.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	why := errors.New("another process keeps it locked; remove it if none runs")
	ctx, cancel := patient(ctx, why)
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
