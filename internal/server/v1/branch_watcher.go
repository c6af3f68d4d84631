package v1

import (
	"context"
	"sync"
	"time"
)

// branchUpdated are the properties of kindBranch.
type branchUpdated struct {
	Branch string `json:"branch,omitzero"`
}

// branchWatcher polls git's HEAD while streams are open: in the directories of the streams, and in those where clients
// asked for the branch. One goroutine polls for all readers; a poll of a directory reads one small file. It is safe for
// concurrent use.
type branchWatcher struct {
	head    func(directory string) string
	changed func(ctx context.Context, directory, head string) // called when HEAD changes

	mu      sync.Mutex // guards the fields below
	readers int
	heads   map[string]string // by directory
	order   []string          // directories, the one watched longest first
	stop    func()            // stops the polling and waits for its end
}

const (
	maxWatched      = 64 // directories; the newest are kept
	branchPollEvery = time.Second
)

// addReader adds a reader of a directory; leave removes it.
func (b *branchWatcher) addReader(ctx context.Context, directory string) (leave func()) {
	b.watch(directory)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readers++; b.readers == 1 {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it serves all readers, not only the first
		var polling sync.WaitGroup
		polling.Go(func() { b.poll(ctx) })
		b.stop = func() { cancel(); polling.Wait() }
	}
	return b.removeReader
}

func (b *branchWatcher) removeReader() {
	b.mu.Lock()
	stop := b.stop
	if b.readers--; b.readers > 0 {
		stop = func() {}
	} else {
		b.heads, b.order, b.stop = nil, nil, nil
	}
	b.mu.Unlock()
	stop()
}

// watch starts to watch a directory, so that the current and later readers learn what changes from now on.
func (b *branchWatcher) watch(directory string) {
	head := b.head(directory)
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, watched := b.heads[directory]; watched || head == "" {
		return
	}
	if b.heads == nil {
		b.heads = map[string]string{}
	}
	b.heads[directory] = head
	if b.order = append(b.order, directory); len(b.order) > maxWatched {
		delete(b.heads, b.order[0])
		b.order = b.order[1:]
	}
}

func (b *branchWatcher) poll(ctx context.Context) {
	ticker := time.NewTicker(branchPollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		b.mu.Lock()
		directories := b.order[:len(b.order):len(b.order)]
		b.mu.Unlock()
		for _, d := range directories {
			if head := b.head(d); b.updateHead(d, head) {
				b.changed(ctx, d, head)
			}
		}
	}
}

// updateHead stores the HEAD of a directory and reports whether it changed. A missing HEAD is no change: git is about to
// write another one, or the checkout is gone.
func (b *branchWatcher) updateHead(directory, head string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, watched := b.heads[directory]
	if !watched || head == "" || head == before {
		return false
	}
	b.heads[directory] = head
	return true
}
