package server

import (
	"context"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/session"
)

// bodyBudget is one budget of bytes for the bodies of all requests. Who wants to read more than smallBody of one first claims all
// that it may become, and waits until that is free, in the order of their coming: so nobody holds a part and waits for the
// rest. The claim ends when the body is closed, by the handler before it waits for work, else when the request is answered.
type bodyBudget struct {
	bytes *semaphore.Weighted
}

const (
	smallBody     = 64 << 10         // of a body without a claim: with all connections they are 125 MiB
	budgetFactor  = 3                // the budget, in bodies of the largest size
	budgetTimeout = 10 * time.Second // for a claim; what is free by then goes to others
)

func newBodyBudget(limit int64) bodyBudget {
	return bodyBudget{semaphore.NewWeighted(budgetFactor * limit)}
}

// acquire waits for the bytes and returns what gives them back.
func (b bodyBudget) acquire(ctx context.Context, bytes int64) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, budgetTimeout)
	defer cancel()
	if b.bytes.Acquire(ctx, bytes) != nil {
		return nil, session.Errorf(
			session.CodeUnavailable,
			"cairn reads as many large requests as it has room for; try again in a moment",
		)
	}
	return func() { b.bytes.Release(bytes) }, nil
}

// limitedBody is what a request sends. Closing it more than once is fine.
type limitedBody struct {
	io.ReadCloser
	acquire func() (release func(), err error) // nil: it has its claim, or needs none
	release func()
	read    int64
	onEOF   func() // called once, when everything was read
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

// limitBody bounds what a request may send, what all may send at once, and in which time.
func (s *Server) limitBody(w http.ResponseWriter, r *http.Request, next http.Handler) {
	limit := s.config.BodyLimit
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close") // rather than read it all
		s.fail(
			w,
			r,
			session.Errorf(session.CodeTooLarge, "the body has %d bytes, the limit is %d", r.ContentLength, limit),
		)
		return
	}
	if r.ContentLength == 0 || r.Body == nil {
		next.ServeHTTP(w, r)
		return
	}
	b := &limitedBody{ReadCloser: http.MaxBytesReader(w, r.Body, limit)}
	defer b.Close() //nolint:errcheck // who reads it was told
	if size := r.ContentLength; size < 0 || size > smallBody {
		b.acquire = func() (func(), error) { return s.bodies.acquire(r.Context(), maxBodySize(size, limit)) }
	}
	if r.ContentLength > 0 && b.acquire != nil {
		if err := b.acquireBudget(); err != nil {
			w.Header().Set("Connection", "close")
			s.fail(w, r, err)
			return
		}
	}
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil { // in process there is none
		b.onEOF = func() { _ = rc.SetReadDeadline(time.Time{}) } // a stream that follows may last
	}
	own := *r // the listener asks the body that it gave whether all of it was read, before it takes what follows for a request
	own.Body = b
	next.ServeHTTP(w, &own)
}

// maxBodySize is what a body of the length may become; one of unknown length as much as there may be.
func maxBodySize(length, limit int64) int64 {
	if length < 0 {
		return limit
	}
	return length
}
