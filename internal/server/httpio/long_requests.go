package httpio

import (
	"context"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// LongRequests are the requests that last until something happens: streams, and requests that wait for a session. The
// zero value is ready for use. It is safe for concurrent use.
type LongRequests struct {
	mu       sync.Mutex // guards the fields below
	requests map[*longRequest]struct{}
	closed   bool
}

// longRequest is one open request.
type longRequest struct {
	cancel  context.CancelCauseFunc
	session session.ID // of a stream of one session
}

// ErrShuttingDown is the cause with which the shutdown of the server ends long requests.
var ErrShuttingDown = session.Errorf(session.CodeUnavailable, "cairn is shutting down; try again in a moment")

// Start returns the context of a long request and a function to call at its end. A stream of one session names it.
func (l *LongRequests) Start(ctx context.Context, stream session.ID) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &longRequest{cancel, stream}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		cancel(ErrShuttingDown)
		return ctx, func() {}
	}
	if l.requests == nil {
		l.requests = map[*longRequest]struct{}{}
	}
	l.requests[r] = struct{}{}
	return ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.requests, r)
		cancel(nil)
	}
}

// Close cancels all long requests, those that are open and those that start later.
func (l *LongRequests) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for r := range l.requests {
		r.cancel(ErrShuttingDown)
	}
}

// StreamedSessions returns the sessions that have streams.
func (l *LongRequests) StreamedSessions() map[session.ID]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := map[session.ID]bool{}
	for r := range l.requests {
		if r.session != "" {
			ids[r.session] = true
		}
	}
	return ids
}

// CancelSession cancels the streams of a session. The contexts of the streams report cause.
func (l *LongRequests) CancelSession(id session.ID, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.requests {
		if r.session == id {
			r.cancel(cause)
		}
	}
}
