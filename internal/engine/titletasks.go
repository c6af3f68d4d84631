package engine

import (
	"context"
	"sync"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/session"
)

// titleTasks are the titles that are being generated, one per session.
type titleTasks struct {
	wg sync.WaitGroup

	mu      sync.Mutex // guards the rest
	cancels map[session.ID]context.CancelCauseFunc
	closed  bool
}

// start runs generate, unless the session has a task already.
func (t *titleTasks) start(id session.ID, generate func(context.Context)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.cancels[id] != nil {
		return
	}
	if t.cancels == nil {
		t.cancels = map[session.ID]context.CancelCauseFunc{}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	t.cancels[id] = cancel
	t.wg.Go(func() {
		defer t.remove(id)
		generate(ctx)
	})
}

func (t *titleTasks) remove(id session.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancels[id](nil)
	delete(t.cancels, id)
}

// cancel cancels the session's task.
func (t *titleTasks) cancel(id session.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if stop := t.cancels[id]; stop != nil {
		stop(cause.ErrCancelled)
	}
}

// close starts no more tasks, and waits until those that run have recorded what they have, or ctx ends.
func (t *titleTasks) close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	for _, stop := range t.cancels {
		stop(cause.ErrShutdown)
	}
	t.mu.Unlock()
	return awaitAll(ctx, &t.wg)
}
