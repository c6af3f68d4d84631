package broadcast

import "sync"

// maxWaiting bounds the values that wait for a slow reader of a Topic; it misses further ones.
const maxWaiting = 64

// Topic passes values that are not stored to its readers. The zero value is ready for use. It is safe for concurrent
// use.
type Topic[T any] struct {
	mu     sync.Mutex // guards queues
	queues map[*Queue[T]]struct{}
}

// Queue holds the values that one reader of a Topic has not sent.
type Queue[T any] struct {
	values chan T
	wake   chan struct{} // has an element when values may have one
	mu     sync.Mutex    // held while values are taken and sent
}

// Subscribe returns a queue of the values from now on.
func (t *Topic[T]) Subscribe() *Queue[T] {
	q := &Queue[T]{values: make(chan T, maxWaiting), wake: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queues == nil {
		t.queues = map[*Queue[T]]struct{}{}
	}
	t.queues[q] = struct{}{}
	return q
}

// Unsubscribe ends q, which gets no further values: SendAll returns.
func (t *Topic[T]) Unsubscribe(q *Queue[T]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.queues, q)
	close(q.wake)
}

// Send passes a value to all readers. It does not wait for them.
func (t *Topic[T]) Send(v T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for q := range t.queues {
		select {
		case q.values <- v:
		default:
		}
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

// SendAll calls send with each value until Unsubscribe.
func (q *Queue[T]) SendAll(send func(T)) {
	for range q.wake {
		q.SendWaiting(send)
	}
}

// SendWaiting calls send with each value that waits. When it returns, all values that the topic got before the call
// have been sent, also those that a concurrent call took.
func (q *Queue[T]) SendWaiting(send func(T)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		select {
		case v := <-q.values:
			send(v)
		default:
			return
		}
	}
}
