package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

const (
	// removalRetry is the time after which contents are looked at again that a command at work may need.
	removalRetry = time.Minute
	// lastRemovalTime bounds the last removal of a process.
	lastRemovalTime = 10 * time.Second
)

// deletedSessions are sessions that were deleted and whose contents of files were not removed yet. Safe for concurrent use.
type deletedSessions struct {
	mu   sync.Mutex // guards ids
	ids  []string
	wake chan struct{}
}

func (d *deletedSessions) add(id session.ID) {
	d.mu.Lock()
	d.ids = append(d.ids, string(id))
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *deletedSessions) take() (ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids, d.ids = d.ids, nil
	return ids
}

// startContentRemoval removes the contents of deleted sessions until ctx ends, and then those that are left. Many
// deletions in a row are one removal, which reads the pins of all sessions. release waits for it.
func (w *owner) startContentRemoval(ctx context.Context) {
	s := w.locations.snapshots
	w.sweeps.Go(func() {
		var left []string
		for {
			var retry <-chan time.Time
			if len(left) > 0 {
				retry = time.After(removalRetry)
			}
			select {
			case <-s.deleted.wake:
			case <-retry:
			case <-ctx.Done():
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRemovalTime)
				defer cancel()
				w.removeContents(last, append(left, s.deleted.take()...))
				return
			}
			left = w.removeContents(ctx, append(left, s.deleted.take()...))
		}
	})
}

// removeContents removes what only the sessions needed, and returns those that it has to look at again. A session that
// exists again was imported meanwhile.
func (w *owner) removeContents(ctx context.Context, ids []string) (left []string) {
	if len(ids) == 0 || w.store.DegradedError() != nil {
		return nil
	}
	deleted := w.sessionDeletedCheck(ctx)
	ids = slices.DeleteFunc(ids, func(id string) bool {
		gone, err := deleted(session.ID(id))
		return err != nil || !gone // the next sweep looks again
	})
	left, err := w.locations.snapshots.blobs.RemoveOwners(ctx, ids)
	if len(ids) > 0 {
		err = errors.Join(err, w.locations.snapshots.pruneCaptures(ctx))
	}
	if err != nil && ctx.Err() == nil {
		w.logger.Warn("contents of files of deleted sessions could not be removed", "error", err)
	}
	return left
}

// pruneCaptures removes what captures of all worktrees hold except for the newest ones.
func (s *snapshots) pruneCaptures(ctx context.Context) error {
	worktrees := filepath.Join(s.dir, "worktrees")
	entries, err := os.ReadDir(worktrees)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, s.blobs.PruneCaptures(ctx, findGit(), filepath.Join(worktrees, e.Name())))
	}
	return err
}
