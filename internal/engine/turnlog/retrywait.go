package turnlog

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// RetryWaits are the current waits before a retry, by session, so that they can be cut short. A cut is a hint: the rows
// decide whether the retry comes early.
type RetryWaits struct {
	mu sync.Mutex // guards m
	m  map[session.ID]chan struct{}
}

// Begin returns a channel that receives the cuts of the session's wait, and what ends the wait.
func (w *RetryWaits) Begin(id session.ID) (cuts <-chan struct{}, end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.m == nil {
		w.m = map[session.ID]chan struct{}{}
	}
	c := make(chan struct{}, 1) // further cuts add nothing
	w.m[id] = c
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.m, id)
	}
}

// Cut cuts the session's wait, if it waits.
func (w *RetryWaits) Cut(id session.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.m[id] <- struct{}{}:
	default:
	}
}
