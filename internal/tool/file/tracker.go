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

// maxLockWait bounds how long a call waits for a file that others read or change.
const maxLockWait = 30 * time.Second

// Tracker is what the tools of a process know together about files: which one is being changed, and what each session
// last saw in it. Safe for concurrent use.
type Tracker struct {
	mu        sync.Mutex // guards what follows
	busy      map[string]chan struct{}
	seen      map[seenKey]*list.Element
	order     *list.List // of *seenEntry, the most recent first
	keptBytes int        // bytes of the contents in seen
	shown     map[shownInstructions]bool
	restored  map[session.ID]bool // of what these saw before this process, everything is in seen

	scaling sync.Mutex // held while an image is made smaller: one at a time, for the memory that it takes
}

// NewTracker returns an empty Files.
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

// lockPath waits until nobody else changes the file at the real path and returns the function that gives it free. It
// fails when ctx ends or the wait is too long.
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
