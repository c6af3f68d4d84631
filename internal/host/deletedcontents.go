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

// removals are what has to be removed for deleted sessions.
type removals struct {
	sessions  []string // their contents
	worktrees []string // folders of captures, whose git objects may be of such a session
}

// startContentRemoval removes the contents of deleted sessions until ctx ends, and then those that are left. Many
// deletions in a row are one removal, which reads the pins of all sessions. release waits for it.
func (w *owner) startContentRemoval(ctx context.Context) {
	s := w.locations.snapshots
	w.sweeps.Go(func() {
		var left removals
		for {
			var retry <-chan time.Time
			if len(left.sessions)+len(left.worktrees) > 0 {
				retry = time.After(removalRetry)
			}
			select {
			case <-s.deleted.wake:
			case <-retry:
			case <-ctx.Done():
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRemovalTime)
				defer cancel()
				w.removeContents(last, left, s.deleted.take())
				return
			}
			left = w.removeContents(ctx, left, s.deleted.take())
		}
	})
}

// removeContents removes what only the sessions ids needed, and what an earlier call has left. It returns what it has to
// look at again. A session that exists again was imported meanwhile.
func (w *owner) removeContents(ctx context.Context, todo removals, ids []string) (left removals) {
	s := w.locations.snapshots
	if w.store.DegradedError() != nil { // keep all until the store can say which sessions exist
		if len(ids) > 0 {
			todo.worktrees, _ = s.listWorktrees() // the next sweep looks again
		}
		todo.sessions = append(todo.sessions, ids...)
		return todo
	}
	// Leave out the sessions that exist.
	deleted := w.sessionDeletedCheck(ctx)
	isKept := func(id string) bool {
		gone, err := deleted(session.ID(id))
		return err != nil || !gone // the next sweep looks again
	}
	ids, todo.sessions = slices.DeleteFunc(ids, isKept), slices.DeleteFunc(todo.sessions, isKept)
	// Any worktree may hold what the sessions captured. Those of an earlier call wait until no command is at work there.
	var listErr error
	if len(ids) > 0 {
		todo.worktrees, listErr = s.listWorktrees()
	} else {
		todo.worktrees = slices.DeleteFunc(todo.worktrees, func(dir string) bool {
			isHeld := s.blobs.AreCapturesHeld(dir)
			if isHeld {
				left.worktrees = append(left.worktrees, dir)
			}
			return isHeld
		})
	}
	// Remove the contents, then the git objects.
	var removeErr error
	left.sessions, removeErr = s.blobs.RemoveOwners(ctx, append(todo.sessions, ids...))
	pruned, pruneErr := s.pruneCaptures(ctx, todo.worktrees)
	left.worktrees = append(left.worktrees, pruned...)
	if err := errors.Join(listErr, removeErr, pruneErr); err != nil && ctx.Err() == nil {
		w.logger.Warn("contents of files of deleted sessions could not be removed", "error", err)
	}
	return left
}

// listWorktrees returns the folders of the captures of all worktrees.
func (s *snapshots) listWorktrees() (dirs []string, err error) {
	top := filepath.Join(s.dir, "worktrees")
	entries, err := os.ReadDir(top)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(top, e.Name()))
	}
	return dirs, err
}

// pruneCaptures removes what captures of worktrees hold except for the newest ones. It returns those that have to be
// looked at again, since a command is at work there or ctx has ended.
func (s *snapshots) pruneCaptures(ctx context.Context, dirs []string) (left []string, err error) {
	for _, dir := range dirs {
		isWhole, pruneErr := false, error(nil)
		if ctx.Err() == nil {
			isWhole, pruneErr = s.blobs.PruneCaptures(ctx, findGit(), dir)
		}
		if !isWhole && (pruneErr == nil || ctx.Err() != nil) {
			left = append(left, dir)
		}
		err = errors.Join(err, pruneErr)
	}
	return left, err
}
