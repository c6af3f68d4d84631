// Package branchwatch reports when another branch is checked out in a directory.
package branchwatch

import (
	"context"
	"sync"
	"time"
)

// Watcher polls git's HEAD while streams are open: in the directories of the streams, and in those where clients
// asked for the branch. One goroutine polls for all readers; a poll of a directory reads one small file. It is safe for
// concurrent use.
type Watcher struct {
	Head    func(directory string) string                     // returns what HEAD names, "" without a checkout
	Changed func(ctx context.Context, directory, head string) // called when HEAD changes

	mu      sync.Mutex // guards the fields below
	readers int
	heads   map[string]string // by directory
	order   []string          // directories, the one watched longest first
	stop    func()            // stops the polling and waits for its end
}

const (
	maxWatched = 64 // directories; the newest are kept
	pollEvery  = time.Second
)

// AddReader adds a reader of a directory; leave removes it.
func (w *Watcher) AddReader(ctx context.Context, directory string) (leave func()) {
	w.Watch(directory)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.readers++; w.readers == 1 {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it serves all readers, not only the first
		var polling sync.WaitGroup
		polling.Go(func() { w.poll(ctx) })
		w.stop = func() { cancel(); polling.Wait() }
	}
	return w.removeReader
}

func (w *Watcher) removeReader() {
	w.mu.Lock()
	stop := w.stop
	if w.readers--; w.readers > 0 {
		stop = func() {}
	} else {
		w.heads, w.order, w.stop = nil, nil, nil
	}
	w.mu.Unlock()
	stop()
}

// Watch starts to watch a directory, so that the current and later readers learn what changes from now on.
func (w *Watcher) Watch(directory string) {
	head := w.Head(directory)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, watched := w.heads[directory]; watched || head == "" {
		return
	}
	if w.heads == nil {
		w.heads = map[string]string{}
	}
	w.heads[directory] = head
	if w.order = append(w.order, directory); len(w.order) > maxWatched {
		delete(w.heads, w.order[0])
		w.order = w.order[1:]
	}
}

func (w *Watcher) poll(ctx context.Context) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		w.mu.Lock()
		directories := w.order[:len(w.order):len(w.order)]
		w.mu.Unlock()
		for _, d := range directories {
			if head := w.Head(d); w.updateHead(d, head) {
				w.Changed(ctx, d, head)
			}
		}
	}
}

// updateHead stores the HEAD of a directory and reports whether it changed. A missing HEAD is no change: git is about
// to write another one, or the checkout is gone.
func (w *Watcher) updateHead(directory, head string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, watched := w.heads[directory]
	if !watched || head == "" || head == before {
		return false
	}
	w.heads[directory] = head
	return true
}
