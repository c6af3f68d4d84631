package host

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Old managed output files are looked for at the start of every server and then every hour (spec/v2 §15.2). Owners that
// live for one command only look when nobody did for a day: sweepStamp, in the same folder, was last touched then.
const (
	sweepEvery = time.Hour
	sweepRest  = 24 * time.Hour
	sweepStamp = ".swept"
)

// tidy starts to remove managed output files that are old, and those that an earlier owner left when it was killed after
// their session was deleted; release ends it.
func (w *owner) tidy(ctx context.Context, serving bool) {
	ctx, w.untidy = context.WithCancel(context.WithoutCancel(ctx))
	start := time.Now()
	w.tidying.Go(func() {
		w.removeOrphans(ctx, start)
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			if serving || w.unswept(time.Now()) {
				w.sweep(ctx)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// removeOrphans removes the output files of deleted sessions that were last written before the start. In a damaged store
// a session may seem gone that is not.
func (w *owner) removeOrphans(ctx context.Context, start time.Time) {
	if w.store.Degraded() != nil {
		return
	}
	if err := w.places.outputs.RemoveOrphans(ctx, start, w.gone(ctx)); err != nil && ctx.Err() == nil {
		w.logger.Warn("remove tool output of deleted sessions", "error", err)
	}
}

// gone reports whether a session is no more. Of one whose row is damaged nobody can say.
func (w *owner) gone(ctx context.Context) func(session.ID) (bool, error) {
	return func(id session.ID) (gone bool, err error) {
		err = w.store.View(ctx, func(r store.Reader) error {
			_, ok, err := r.Session(id)
			gone = !ok
			return err
		})
		return gone && err == nil, err
	}
}

// unswept reports whether there are output files at which nobody looked for a day.
func (w *owner) unswept(now time.Time) bool {
	if _, err := os.Stat(w.places.outputs.Dir); err != nil {
		return false // there were none yet
	}
	info, err := os.Stat(filepath.Join(w.places.outputs.Dir, sweepStamp))
	return err != nil || now.Sub(info.ModTime()) > sweepRest
}

// sweep looks once, and says so to those that come later unless it could not finish.
func (w *owner) sweep(ctx context.Context) {
	now := time.Now()
	err := w.places.outputs.Sweep(ctx, now)
	if err != nil {
		if ctx.Err() == nil {
			w.logger.Warn("sweep tool output", "error", err)
		}
		return
	}
	if _, err := os.Stat(w.places.outputs.Dir); err != nil {
		return
	}
	stamp := filepath.Join(w.places.outputs.Dir, sweepStamp)
	f, err := os.OpenFile(stamp, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_ = f.Close()
		err = os.Chtimes(stamp, now, now)
	}
	if err != nil {
		w.logger.Warn("sweep tool output", "error", err) // the next owner looks again
	}
}
