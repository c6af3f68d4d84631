package engine

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/store"
)

// persist works, and goes on with what the store cut off once it can be written again, as a restart would: what was begun
// is settled and tried again within the same bound, then comes what waits. The end of the process ends the wait. Who stops
// the work meanwhile waits until that is recorded.
func (d *drain) persist(ctx context.Context, f force) error {
	for n := 1; ; n++ {
		err := d.run(ctx, f)
		if !mends(err) || d.coordinator.root.Err() != nil {
			return err
		}
		if n == 1 {
			d.logger.Warn("work is cut off; it goes on when the store can be written", "session", d.id, "error", err)
		}
		if !d.outlast(ctx, n) {
			return err
		}
		if d.begun {
			f, d.cut = restarted, byStore
		}
	}
}

// mends reports whether the store may do later what it could not do now.
func mends(err error) bool {
	return errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrReadOnly)
}

// outlast waits before the store is tried for the n-th time again, without a place among those that work. It reports
// false if the process ends first. A stop, and a steer, which shows that the store can be written, end the wait.
func (d *drain) outlast(ctx context.Context, n int) bool {
	d.place.leave()
	defer func() { _ = d.place.take(ctx, func() { d.statuses.set(d.Engine, d.id, Status{Type: StatusQueued}) }) }()
	short, end := d.pauses.begin(d.id)
	defer end()
	wait := backoff(n)
	d.statuses.set(d.Engine, d.id, Status{
		Type: StatusRetry, Attempt: n, Message: told(store.ErrUnavailable).Message, Next: d.now().Add(wait).UnixMilli(),
	})
	stop := ctx.Done()
	if ctx.Err() != nil { // it has come already: what is tried again is to record it
		stop = nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-d.coordinator.root.Done():
		return false
	case <-stop:
	case <-short:
	case <-timer.C:
	}
	return true
}
