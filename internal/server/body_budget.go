package server

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/session"
)

// bodyBudget limits the bytes that the bodies of all requests hold together. A request that reads more than
// smallBody first acquires the largest size that its body may have, in the order of arrival, so that no request
// holds a part while it waits for the rest. The bytes are released when the body is closed: by the operation once it
// has decoded the body, else when the request is answered.
//
// Medium bodies have a part of the budget of their own, and each client at most half of a part, so that one client's
// slow bodies delay its own requests only.
type bodyBudget struct {
	limit         int64 // of one body
	medium, large bodyPart
}

// bodyPart is a part of the budget. Its clients are those that hold or wait for bytes of it.
type bodyPart struct {
	all   *semaphore.Weighted
	share int64 // of one client; every body of the part fits

	mu      sync.Mutex // guards clients and their users
	clients map[string]*bodyShare
}

type bodyShare struct {
	bytes *semaphore.Weighted
	users int
}

const (
	smallBody     = 64 << 10         // read without a reservation; all connections together 125 MiB
	mediumBody    = 16               // bodies of a sixteenth of the limit are medium
	budgetTimeout = 10 * time.Second // for a reservation
)

// newBodyBudget returns a budget of three bodies of the largest size.
func newBodyBudget(limit int64) *bodyBudget {
	b := &bodyBudget{limit: limit}
	b.medium.all, b.medium.share = semaphore.NewWeighted(limit), limit/2
	b.large.all, b.large.share = semaphore.NewWeighted(2*limit), limit
	return b
}

// acquire waits for the bytes for a client and returns a function that releases them.
func (b *bodyBudget) acquire(ctx context.Context, client string, bytes int64) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, budgetTimeout)
	defer cancel()
	part := &b.large
	if bytes <= b.limit/mediumBody {
		part = &b.medium
	}
	share := part.open(client)
	if share.bytes.Acquire(ctx, bytes) != nil {
		part.close(client)
		return nil, session.Errorf(session.CodeUnavailable,
			"other large requests of this client are in progress; try again in a moment")
	}
	if part.all.Acquire(ctx, bytes) != nil {
		share.bytes.Release(bytes)
		part.close(client)
		return nil, session.Errorf(session.CodeUnavailable,
			"the memory for large requests is in use; try again in a moment")
	}
	return func() {
		part.all.Release(bytes)
		share.bytes.Release(bytes)
		part.close(client)
	}, nil
}

// open returns the share of a client. The caller closes it.
func (p *bodyPart) open(client string) *bodyShare {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients == nil {
		p.clients = map[string]*bodyShare{}
	}
	share := p.clients[client]
	if share == nil {
		share = &bodyShare{bytes: semaphore.NewWeighted(p.share)}
		p.clients[client] = share
	}
	share.users++
	return share
}

func (p *bodyPart) close(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if share := p.clients[client]; share.users > 1 {
		share.users--
	} else {
		delete(p.clients, client)
	}
}

// limitedBody is the body of a request. It can be closed more than once.
type limitedBody struct {
	io.ReadCloser
	acquire func() (release func(), err error) // nil: the bytes are reserved, or need no reservation
	release func()
	read    int64
	onEOF   func() // called once, at the end of the body
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.acquire != nil && b.read+int64(len(p)) > smallBody {
		if b.read < smallBody {
			p = p[:smallBody-b.read]
		} else if err := b.acquireBudget(); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err == io.EOF && b.onEOF != nil { //nolint:errorlint // readers return it as it is
		b.onEOF()
		b.onEOF = nil
	}
	return n, err
}

func (b *limitedBody) acquireBudget() (err error) {
	if b.release, err = b.acquire(); err == nil {
		b.acquire = nil
	}
	return err
}

func (b *limitedBody) Close() error {
	if b.release != nil {
		b.release()
		b.release = nil
	}
	return b.ReadCloser.Close()
}

// The bounds of what is read of a refused body. A client that still sends sees a reset instead of the response if the
// connection is closed before.
const (
	discardBytes = 128 << 20
	discardTime  = 5 * time.Second
)

// discardBody sends the response to the request and reads what the client still sends, within bounds.
func discardBody(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	if rc.Flush() != nil || rc.SetReadDeadline(time.Now().Add(discardTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, discardBytes) // an error ends the connection, too
}

// limitBody bounds the size of a body, the bytes of all bodies together, and the time to send one.
func (s *Server) limitBody(w http.ResponseWriter, r *http.Request, next http.Handler) {
	limit := s.config.BodyLimit
	// Refuse a declared size over the limit before the handler starts.
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")                // instead of reading any body to its end
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
		s.fail(w, r, session.Errorf(session.CodeTooLarge, "the body has %d bytes, the limit is %d", r.ContentLength, limit))
		discardBody(w, r)
		return
	}
	// An empty body needs no bounds.
	if r.ContentLength == 0 || r.Body == nil {
		next.ServeHTTP(w, r)
		return
	}
	b := &limitedBody{ReadCloser: http.MaxBytesReader(w, r.Body, limit)}
	defer b.Close() //nolint:errcheck // the reader has the error
	// Small bodies need no budget; one of unknown size acquires it once it is no longer small.
	if size := r.ContentLength; size < 0 || size > smallBody {
		b.acquire = func() (func(), error) {
			return s.bodies.acquire(r.Context(), clientOf(r), maxBodySize(size, limit))
		}
	}
	// Reserve a known size now, so that the handler does not start in vain.
	if r.ContentLength > 0 && b.acquire != nil {
		if err := b.acquireBudget(); err != nil {
			w.Header().Set("Connection", "close")
			s.fail(w, r, err)
			return
		}
	}
	// A slow client must not hold the connection and its share of the budget for ever.
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil { // a call in this process has no deadline
		b.onEOF = func() { _ = rc.SetReadDeadline(time.Time{}) } // a stream may follow
	}
	own := *r // net/http asks the body that it created whether it was read to its end
	own.Body = b
	next.ServeHTTP(w, &own)
}

// maxBodySize returns the largest size that a body may have. A body of unknown length may have the limit.
func maxBodySize(length, limit int64) int64 {
	if length < 0 {
		return limit
	}
	return length
}
