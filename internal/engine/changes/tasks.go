package changes

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

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

// endTime bounds the time for which the outcome of a command, and the end of work, wait for what the command changed.
// What the user writes after the work has ended is not the command's, so the work ends after that.
const endTime = 500 * time.Millisecond

// AwaitEnd waits at most endTime until no task of the session is left, even if ctx has ended.
func (t *taskQueues) AwaitEnd(ctx context.Context, id session.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_ = t.AwaitSession(ctx, id) // an error means that the time is over
}

// AwaitRecorded waits until no task of the session is left. If that takes too long, it returns a conflict.
func (t *taskQueues) AwaitRecorded(ctx context.Context, id session.ID) error {
	late, cancel := context.WithTimeoutCause(ctx, recordTime, session.Errorf(session.CodeConflict,
		"session %s: the files that its last command changed are still being recorded; try again in a moment", id))
	defer cancel()
	return t.AwaitSession(late, id)
}

// recordTime bounds the time for which a request waits until changes are recorded.
const recordTime = 20 * time.Second

// Close waits until the tasks that were started are done. Its error is the cause of ctx's end.
func (t *taskQueues) Close(ctx context.Context) error {
	t.mu.Lock()
	ids := slices.Collect(maps.Keys(t.bySession))
	t.mu.Unlock()
	for _, id := range ids {
		if err := t.AwaitSession(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
