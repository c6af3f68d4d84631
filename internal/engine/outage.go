package engine

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/store"
)

// runWithStoreRetry runs the drain. If the store becomes unavailable it retries with backoff until the store recovers
// or the process exits, then resumes as after a restart, within the same limits. An interrupt waits until it is
// recorded.
func (d *drain) runWithStoreRetry(ctx context.Context, mode drainMode) error {
	for n := 1; ; n++ {
		err := d.run(ctx, mode)
		if !isTransient(err) || d.engine.coordinator.root.Err() != nil {
			return err
		}
		if n == 1 {
			d.engine.logger.Warn("the store is unavailable; the session resumes when it recovers",
				"session", d.id, "error", err)
		}
		if !d.waitForStore(ctx, n) {
			return err
		}
		if d.worked {
			mode, d.cutBy = drainRestart, cutByStore
		}
	}
}

// isTransient reports whether the store may later do what it failed to do now.
func isTransient(err error) bool {
	return errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrDamaged) &&
		!errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrLeaseLost)
}

// waitForStore waits before the n-th retry without holding the drain's slot. It returns false if the process exits
// first. An interrupt ends the wait, and so does a steer, which shows that the store is available.
func (d *drain) waitForStore(ctx context.Context, n int) bool {
	engine := d.engine
	// Let other sessions work meanwhile, and show the wait.
	d.slot.Release()
	defer func() { _ = d.slot.Acquire(ctx, d.reportQueued) }()
	cuts, end := engine.retryWaits.Begin(d.id)
	defer end()
	wait := turnlog.Backoff(n)
	engine.statuses.Set(d.id, Status{
		Type: StatusRetry, Attempt: n, Message: turnlog.DescribeFailure(store.ErrUnavailable).Message,
		Next: engine.journal.Now().Add(wait).UnixMilli(),
	})
	// Wait for the time, a steer, an interrupt or the end of the process.
	stop := ctx.Done()
	if ctx.Err() != nil { // the interrupt is already there: the retry records it
		stop = nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-engine.coordinator.root.Done():
		return false
	case <-stop:
	case <-cuts:
	case <-timer.C:
	}
	return true
}

// reportQueued shows that the session waits for other sessions of the process.
func (d *drain) reportQueued() {
	d.engine.statuses.Set(d.id, Status{Type: StatusQueued})
}
