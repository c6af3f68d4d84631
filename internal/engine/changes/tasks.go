package changes

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// tasks are what is recorded while the work of sessions goes on, for each session one after the other.
type tasks struct {
	mu   sync.Mutex // guards work and the queues in it
	work map[session.ID]*background
}

// background is what is recorded for a session while its work goes on.
type background struct {
	queue []func()
	done  chan struct{} // closed when nothing is left
}

// StartTask runs f concurrently, after what was started for the session before.
func (r *tasks) StartTask(id session.ID, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.work[id]; b != nil {
		b.queue = append(b.queue, f)
		return
	}
	b := &background{queue: []func(){f}, done: make(chan struct{})}
	r.work[id] = b
	go r.runQueue(id, b)
}

func (r *tasks) runQueue(id session.ID, b *background) {
	for {
		r.mu.Lock()
		if len(b.queue) == 0 {
			delete(r.work, id)
			close(b.done)
			r.mu.Unlock()
			return
		}
		next := b.queue[0]
		b.queue = b.queue[1:]
		r.mu.Unlock()
		next()
	}
}

// AwaitSession waits until everything of the session is recorded, or ctx ends.
func (r *tasks) AwaitSession(ctx context.Context, id session.ID) error {
	r.mu.Lock()
	b := r.work[id]
	r.mu.Unlock()
	if b == nil {
		return nil
	}
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close waits until everything is recorded, or ctx ends.
func (r *tasks) Close(ctx context.Context) error {
	r.mu.Lock()
	ids := slices.Collect(maps.Keys(r.work))
	r.mu.Unlock()
	for _, id := range ids {
		if err := r.AwaitSession(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
