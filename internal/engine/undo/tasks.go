package undo

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// taskQueues run tasks in the background, those of one session one after the other.
type taskQueues struct {
	mu        sync.Mutex // guards bySession and the queues in it
	bySession map[session.ID]*taskQueue
}

// taskQueue holds the tasks of a session that wait, while one of them runs.
type taskQueue struct {
	waiting []func()
	done    chan struct{} // closed when no task is left
}

// StartTask runs f in the background, after the tasks that were started for the session before.
func (t *taskQueues) StartTask(id session.ID, f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.bySession[id]; q != nil {
		q.waiting = append(q.waiting, f)
		return
	}
	q := &taskQueue{waiting: []func(){f}, done: make(chan struct{})}
	t.bySession[id] = q
	go t.runQueue(id, q)
}

// runQueue runs the tasks of a session until none is left.
func (t *taskQueues) runQueue(id session.ID, q *taskQueue) {
	for {
		t.mu.Lock()
		if len(q.waiting) == 0 {
			delete(t.bySession, id)
			close(q.done)
			t.mu.Unlock()
			return
		}
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		t.mu.Unlock()
		next()
	}
}

// AwaitSession waits until no task of the session is left. Its error is the cause of ctx's end.
func (t *taskQueues) AwaitSession(ctx context.Context, id session.ID) error {
	t.mu.Lock()
	q := t.bySession[id]
	t.mu.Unlock()
	if q == nil {
		return nil
	}
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close waits until no task is left. Its error is the cause of ctx's end.
func (t *taskQueues) Close(ctx context.Context) error {
	for {
		t.mu.Lock()
		ids := slices.Collect(maps.Keys(t.bySession))
		t.mu.Unlock()
		if len(ids) == 0 {
			return nil
		}
		for _, id := range ids {
			if err := t.AwaitSession(ctx, id); err != nil {
				return err
			}
		}
	}
}
