package acp

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Bounds of what waits to be written to a client.
const (
	maxUnread    = 16 << 20         // bytes that wait before senders do
	stallTimeout = time.Minute      // the longest time in which a client with that many bytes before it reads nothing
	flushTimeout = 10 * time.Second // the time to read what is left at the end of a connection
)

// errStalled is the error of a connection whose client does not read.
var errStalled = fmt.Errorf("the client has read nothing for %v, with %d MiB to read; "+
	"what it began goes on at the server", stallTimeout, maxUnread>>20)

// outbox writes messages to a client in a goroutine of its own, so that a client that does not read holds up neither
// the messages that it sends nor the sessions. Senders wait when maxUnread bytes are not written yet. A client that
// reads nothing for stallTimeout then ends the outbox.
type outbox struct {
	out    io.Writer
	wake   chan struct{} // capacity 1: there is a message to write, or none will come
	failed chan struct{} // closed when nothing can be written any more
	done   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards the rest
	queue   [][]byte
	unread  int           // bytes of the queue and of the message that is being written
	written chan struct{} // closed when a message was written
	closed  bool
	err     error // why nothing can be written
}

func newOutbox(out io.Writer) *outbox {
	o := &outbox{
		out: out, wake: make(chan struct{}, 1), failed: make(chan struct{}), done: make(chan struct{}),
		written: make(chan struct{}),
	}
	go o.run() // until close; a write to a pipe that nobody reads cannot be stopped, and ends with the process
	return o
}

// put queues a message behind those that were put before. It waits for room, unless the message is urgent: such
// messages are small, and few wait.
func (o *outbox) put(raw []byte, urgent bool) {
	for {
		o.mu.Lock()
		limit := maxUnread
		if urgent {
			limit *= 2
		}
		if o.closed || o.err != nil {
			o.mu.Unlock()
			return
		}
		if o.unread == 0 || o.unread+len(raw) <= limit {
			o.queue, o.unread = append(o.queue, raw), o.unread+len(raw)
			o.mu.Unlock()
			o.notify()
			return
		}
		written := o.written
		o.mu.Unlock()
		if urgent {
			o.fail(errStalled)
			return
		}
		// Wait until a message was written.
		timer := time.NewTimer(stallTimeout)
		select {
		case <-written:
		case <-o.failed:
		case <-timer.C:
			o.fail(errStalled)
		}
		timer.Stop()
	}
}

func (o *outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// fail drops what waits and all that comes.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err, o.queue = err, nil
		close(o.failed)
	}
}

// failure returns why nothing can be written any more. A client that has closed its end is no failure.
func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if errors.Is(o.err, errStalled) {
		return o.err
	}
	return nil
}

// run writes the messages.
func (o *outbox) run() {
	defer close(o.done)
	for range o.wake {
		for {
			o.mu.Lock()
			if len(o.queue) == 0 {
				isOver := o.closed || o.err != nil
				o.mu.Unlock()
				if isOver {
					return
				}
				break
			}
			raw := o.queue[0]
			o.queue = o.queue[1:]
			o.mu.Unlock()
			_, err := o.out.Write(raw)
			o.mu.Lock()
			o.unread -= len(raw)
			close(o.written)
			o.written = make(chan struct{})
			o.mu.Unlock()
			if err != nil {
				o.fail(err)
				return
			}
		}
	}
}

// limitFlush gives the client a last time to read; then what it has not read is dropped. stop ends that.
func (o *outbox) limitFlush() (stop func()) {
	timer := time.AfterFunc(flushTimeout, func() { o.fail(errClosed) })
	return func() { timer.Stop() }
}

// close returns when everything was written, or cannot be. Messages that are put later are dropped.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.notify()
	select {
	case <-o.done:
	case <-o.failed:
	}
}
