package host

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Servers remove old output files of tools when they start and then every hour. Owners that live for one command do so
// if the last sweep was a day ago: the modification time of sweepStamp, a file in the same folder.
const (
	sweepEvery  = time.Hour
	sweepMaxAge = 24 * time.Hour
	sweepStamp  = ".swept"
)

// startSweeps starts to remove output files that are old, and those of deleted sessions that an earlier owner left
// because it was killed. release ends the context that it returns, and waits for the work.
func (w *owner) startSweeps(ctx context.Context, serving bool) context.Context {
	ctx, w.stopSweeps = context.WithCancel(context.WithoutCancel(ctx))
	start := time.Now()
	w.sweeps.Go(func() {
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for ; ; start = time.Now() {
			w.deleteEphemeral(ctx)
			w.removeOrphans(ctx, start)
			if err := keepReserve(w.dirs.Data); err != nil {
				w.logger.Warn("no room of the disk is kept for deletions", "error", err)
			}
			if serving || w.isSweepDue(time.Now()) {
				w.sweepSnapshots(ctx, time.Now())
				w.sweepOutputs(ctx)
				w.sweepProjects(ctx)
				w.pruneSessions(ctx)
				w.shrinkStore(ctx)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return ctx
}

// startModelRefresh starts to fetch the list of models if it is old. release ends ctx, and waits.
func (w *owner) startModelRefresh(ctx context.Context) {
	w.sweeps.Go(func() {
		if err := w.locations.models.RefreshStale(ctx); err != nil {
			w.logger.InfoContext(ctx, "models", "error", err)
		}
	})
}

// removeOrphans removes the output files of deleted sessions that were written before start. It does nothing if the
// store is damaged, because sessions may be missing in it that were not deleted.
func (w *owner) removeOrphans(ctx context.Context, start time.Time) {
	if w.store.DegradedError() != nil {
		return
	}
	err := w.locations.outputs.RemoveOrphans(ctx, start, func(id session.ID) (unused bool, err error) {
		err = w.store.View(ctx, func(r store.Reader) (err error) {
			unused, err = admit.OwnsUnusedFiles(r, id, true)
			return err
		})
		return unused && err == nil, err
	})
	if err != nil && ctx.Err() == nil {
		w.logger.Warn("tool output of deleted sessions could not be removed", "error", err)
	}
}

// sessionDeletedCheck returns a function that reports whether a session was deleted. It fails for a damaged row.
func (w *owner) sessionDeletedCheck(ctx context.Context) func(session.ID) (bool, error) {
	return func(id session.ID) (gone bool, err error) {
		err = w.store.View(ctx, func(r store.Reader) error {
			_, ok, err := r.Session(id)
			gone = !ok
			return err
		})
		return gone && err == nil, err
	}
}

// sweepSnapshots removes kept contents of files that no session needs. It does nothing if the store is damaged.
func (w *owner) sweepSnapshots(ctx context.Context, now time.Time) {
	if w.store.DegradedError() != nil {
		return
	}
	err := w.locations.snapshots.collect(ctx, now, w.sessionDeletedCheck(ctx))
	if err != nil && ctx.Err() == nil {
		w.logger.Warn("old contents of files could not be removed", "error", err)
	}
}

// isSweepDue reports whether there are output files and the last sweep was a day ago.
func (w *owner) isSweepDue(now time.Time) bool {
	if _, err := os.Stat(w.locations.outputs.Dir); err != nil {
		return false // there are no output files yet
	}
	info, err := os.Stat(filepath.Join(w.locations.outputs.Dir, sweepStamp))
	return err != nil || now.Sub(info.ModTime()) > sweepMaxAge
}

// sweepOutputs removes old output files, and touches sweepStamp if it could finish.
func (w *owner) sweepOutputs(ctx context.Context) {
	now := time.Now()
	err := w.locations.outputs.RemoveOld(ctx, now)
	if err != nil {
		if ctx.Err() == nil {
			w.logger.Warn("old tool output could not be removed", "error", err)
		}
		return
	}
	if _, err := os.Stat(w.locations.outputs.Dir); err != nil {
		return
	}
	stamp := filepath.Join(w.locations.outputs.Dir, sweepStamp)
	f, err := os.OpenFile(stamp, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_ = f.Close()
		err = os.Chtimes(stamp, now, now)
	}
	if err != nil {
		w.logger.Warn("the time of this sweep could not be stored; the next owner sweeps again", "error", err)
	}
}
