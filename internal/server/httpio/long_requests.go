package httpio

import (
	"context"
	"net/http"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// LongRequests are the requests that last until something happens. The zero value is ready; safe for concurrent use.
type LongRequests struct {
	mu     sync.Mutex // guards the rest
	m      map[*longRequest]struct{}
	closed bool
}

// longRequest is one of them. A stream names its session.
type longRequest struct {
	cancel  context.CancelCauseFunc
	session session.ID
}

// ErrShuttingDown is why a long request ends when the server does.
var ErrShuttingDown = session.Errorf(session.CodeUnavailable, "cairn is shutting down; try again in a moment")

// Start returns a context for a long request and what to call when it is over. The session is that of a stream. Nothing
// more is read of what was sent: others wait for its room.
func (l *LongRequests) Start(r *http.Request, id session.ID) (context.Context, func()) {
	if r.Body != nil {
		_ = r.Body.Close() // what was not read is not needed
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	w := &longRequest{cancel, id}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		cancel(ErrShuttingDown)
		return ctx, func() {}
	}
	if l.m == nil {
		l.m = map[*longRequest]struct{}{}
	}
	l.m[w] = struct{}{}
	return ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.m, w)
		cancel(nil)
	}
}

// Close ends all of them, those of now and those to come.
func (l *LongRequests) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for w := range l.m {
		w.cancel(ErrShuttingDown)
	}
}

// StreamedSessions returns the sessions that have streams.
func (l *LongRequests) StreamedSessions() map[session.ID]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := map[session.ID]bool{}
	for w := range l.m {
		if w.session != "" {
			ids[w.session] = true
		}
	}
	return ids
}

// CancelSession ends the streams of a session for the reason.
func (l *LongRequests) CancelSession(id session.ID, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.m {
		if w.session == id {
			w.cancel(why)
		}
	}
}
