package compaction

import (
	"context"
	"sync"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// BackgroundTasks runs at most one task per session. The zero BackgroundTasks is ready for use. Safe for concurrent use.
type BackgroundTasks struct {
	wg sync.WaitGroup

	mu      sync.Mutex // guards the rest
	cancels map[session.ID]context.CancelCauseFunc
	closed  bool
}

// Run runs the task concurrently, unless the session has one already. ctx ends with a cause of package turnlog.
func (t *BackgroundTasks) Run(id session.ID, task func(ctx context.Context)) {
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
		task(ctx)
	})
}

func (t *BackgroundTasks) remove(id session.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancels[id](nil)
	delete(t.cancels, id)
}

// Cancel cancels the session's task.
func (t *BackgroundTasks) Cancel(id session.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if stop := t.cancels[id]; stop != nil {
		stop(turnlog.ErrCancelled)
	}
}

// Close starts no more tasks, and waits until those that run have recorded what they have, or ctx ends.
func (t *BackgroundTasks) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	for _, stop := range t.cancels {
		stop(turnlog.ErrShutdown)
	}
	t.mu.Unlock()
	return turnlog.AwaitGroup(ctx, &t.wg)
}
