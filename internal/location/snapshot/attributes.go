package snapshot

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// TightMode implements scope.Worktree.
func (w *DiskWorktree) TightMode(p session.FilePath) uint32 {
	info, err := os.Lstat(filepath.Join(w.root, filepath.FromSlash(string(p))))
	if err != nil {
		return 0
	}
	return readTight(info)
}

// ChangedSince implements scope.Worktree. The removal of a file changes its directory.
func (w *DiskWorktree) ChangedSince(p session.FilePath, at time.Time) bool {
	name := filepath.Join(w.root, filepath.FromSlash(string(p)))
	for {
		info, err := os.Lstat(name)
		if err == nil {
			return cmp.Or(changeTime(info), info.ModTime().UnixNano()) >= at.Add(-fileTimeStep).UnixNano()
		}
		if name = filepath.Dir(name); len(name) < len(w.root) {
			return true
		}
	}
}
