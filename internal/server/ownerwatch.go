package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// ownerPatience is the time without a response after which a relay asks the owner whether it lives, and that for the
// answer: a relay finds an owner that is stopped after twice as long.
const ownerPatience = 5 * time.Second

// ownerWatch ends requests that wait for an owner that does not live: the kernel accepts connections for a process that
// is stopped. Requests may take any time while the owner answers others.
type ownerWatch struct {
	patience time.Duration
	next     http.RoundTripper
}

var errOwnerSilent = session.Errorf(session.CodeUnavailable,
	"the process that owns the data does not respond; stop it if it hangs, or try again")

// RoundTrip implements http.RoundTripper.
func (o *ownerWatch) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context()) // the body is read with it: it ends with the request
	unanswered, answered := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if o.awaitSilence(unanswered) {
			cancel(errOwnerSilent)
		}
	})
	resp, err := o.next.RoundTrip(req.WithContext(ctx))
	answered()
	wg.Wait()
	if err != nil && errors.Is(context.Cause(ctx), errOwnerSilent) {
		err = errOwnerSilent
	}
	return resp, err
}

// awaitSilence returns true when the owner does not live, and false when ctx ends.
func (o *ownerWatch) awaitSilence(ctx context.Context) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(o.patience):
		}
		if !o.isAlive(ctx) {
			return ctx.Err() == nil
		}
	}
}

// isAlive reports whether the owner answers within its patience.
func (o *ownerWatch) isAlive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, o.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/health", nil)
	if err != nil {
		return false
	}
	resp, err := o.next.RoundTrip(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}
