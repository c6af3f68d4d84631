package builtin

import (
	"container/list"
	"context"
	"crypto/sha256"
	"io/fs"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxSeen bounds how many files are remembered as read, over all sessions; the longest unused are forgotten first.
const maxSeen = 8192

// Files is what the tools of a process know together about files: which one is being changed, and what each session
// last saw in it. Safe for concurrent use.
type Files struct {
	mu    sync.Mutex // guards what follows
	busy  map[string]chan struct{}
	seen  map[seenKey]*list.Element
	order *list.List // of *seenFile, the most recent first
}

// NewFiles returns an empty Files.
func NewFiles() *Files {
	return &Files{busy: map[string]chan struct{}{}, seen: map[seenKey]*list.Element{}, order: list.New()}
}

type seenKey struct {
	session session.ID
	path    string
}

type seenFile struct {
	key   seenKey
	print print
}

// print is what a file was like. A zero sum means that not all of it was read.
type print struct {
	size int64
	time time.Time
	sum  [sha256.Size]byte
}

func printOf(info fs.FileInfo, sum [sha256.Size]byte) print {
	return print{info.Size(), info.ModTime(), sum}
}

// same reports whether both are prints of the same content, as far as one can know.
func (p print) same(o print) bool {
	var none [sha256.Size]byte
	if p.sum != none && o.sum != none {
		return p.sum == o.sum
	}
	return p.size == o.size && p.time.Equal(o.time)
}

// lock waits until nobody else changes the file at the real path and returns the function that gives it free, or the
// end of ctx.
func (f *Files) lock(ctx context.Context, path string) (func(), error) {
	for {
		f.mu.Lock()
		other, taken := f.busy[path]
		if !taken {
			mine := make(chan struct{})
			f.busy[path] = mine
			f.mu.Unlock()
			return func() { f.unlock(path, mine) }, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (f *Files) unlock(path string, mine chan struct{}) {
	f.mu.Lock()
	delete(f.busy, path)
	f.mu.Unlock()
	close(mine)
}

// saw remembers what the session knows of the file.
func (f *Files) saw(id session.ID, path string, p print) {
	key := seenKey{id, path}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := f.seen[key]; ok {
		e.Value = &seenFile{key, p}
		f.order.MoveToFront(e)
		return
	}
	f.seen[key] = f.order.PushFront(&seenFile{key, p})
	if f.order.Len() > maxSeen {
		last := f.order.Back()
		if s, ok := f.order.Remove(last).(*seenFile); ok {
			delete(f.seen, s.key)
		}
	}
}

// known returns what the session last saw of the file.
func (f *Files) known(id session.ID, path string) (print, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.seen[seenKey{id, path}]
	if !ok {
		return print{}, false
	}
	f.order.MoveToFront(e)
	s, ok := e.Value.(*seenFile)
	if !ok {
		return print{}, false
	}
	return s.print, true
}
