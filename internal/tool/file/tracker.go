package file

import (
	"container/list"
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// maxLockWait bounds the wait for a file that other calls read or change.
const maxLockWait = 30 * time.Second

// Tracker holds the state that the file tools of all Locations of a process share: locks on files, and the state of
// each file that each session saw last. Safe for concurrent use.
type Tracker struct {
	mu        sync.Mutex // guards the fields up to the blank line
	busy      map[string]chan struct{}
	seen      map[seenKey]*list.Element
	order     *list.List // of *seenEntry, most recently used first
	keptBytes int        // bytes of all contents in seen
	shown     map[shownInstructions]bool
	restored  map[session.ID]bool // sessions whose earlier results were read

	scaling sync.Mutex // serialises scaling of images, which takes much memory
}

// NewTracker returns an empty Tracker.
func NewTracker() *Tracker {
	return &Tracker{
		busy: map[string]chan struct{}{}, seen: map[seenKey]*list.Element{}, order: list.New(),
		shown: map[shownInstructions]bool{}, restored: map[session.ID]bool{},
	}
}

type seenKey struct {
	session session.ID
	path    string
}

// lockPath locks the file at a real path and returns the function that unlocks it. It fails when ctx ends or after
// maxLockWait.
func (f *Tracker) lockPath(ctx context.Context, path string) (func(), error) {
	late := time.NewTimer(maxLockWait)
	defer late.Stop()
	for {
		f.mu.Lock()
		other, taken := f.busy[path]
		if !taken {
			mine := make(chan struct{})
			f.busy[path] = mine
			f.mu.Unlock()
			return func() { f.unlockPath(path, mine) }, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late.C:
			return nil, tool.Failf(
				"%s is being read or changed by another call for too long already. Try again later.", filepath.ToSlash(path),
			)
		}
	}
}

func (f *Tracker) unlockPath(path string, mine chan struct{}) {
	f.mu.Lock()
	delete(f.busy, path)
	f.mu.Unlock()
	close(mine)
}
