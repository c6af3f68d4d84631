package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
)

// ReconnectTransport sends the requests of a client to the owner of the store. An owner may end at any time: requests
// that it did not take, and those that are safe to repeat, are sent to the next owner within ReconnectTimeout.
type ReconnectTransport struct {
	open func(context.Context) (*client.Connection, error)

	lock chan struct{} // holds one value while it is locked, also during open; guards conn
	conn *client.Connection
}

// NewReconnectTransport returns a transport over the connections that open opens.
func NewReconnectTransport(open func(context.Context) (*client.Connection, error)) *ReconnectTransport {
	return &ReconnectTransport{open: open, lock: make(chan struct{}, 1)}
}

// refusalTimeout is how long an ending owner may refuse requests. The delays are the first and the longest between two
// attempts.
const (
	refusalTimeout  = 5 * time.Second
	closeTimeout    = 300 * time.Millisecond // of a connection that was lost
	firstRetryDelay = 20 * time.Millisecond
	lastRetryDelay  = time.Second
)

// RoundTrip implements http.RoundTripper. When it returns, the whole answer has been read, unless it is a stream.
func (t *ReconnectTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // each try has a body of its own
	}
	ctx, since, lostOne := req.Context(), time.Now(), false
	for wait := firstRetryDelay; ; wait = min(2*wait, lastRetryDelay) {
		conn, err := t.Connect(ctx)
		var resp *http.Response
		if began := time.Now(); err == nil {
			resp, err = sendOnce(conn, req)
			if err != nil && time.Since(began) > ReconnectTimeout { // the owner worked on it: it is lost only now
				since, wait = time.Now(), firstRetryDelay
			}
		}
		// Return the answer, or an error that another owner would not mend; else try again at the next owner.
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err == nil && lostOne && req.Method == http.MethodDelete && resp.StatusCode == http.StatusNotFound:
			resp.StatusCode = http.StatusNoContent // the one before us deleted it and could not say so any more
			return resp, nil
		case err == nil && (ctx.Err() != nil || !isRefused(resp) || time.Since(since) > refusalTimeout):
			return resp, nil
		case err != nil && conn == nil && !IsConnectionLost(err):
			return nil, err
		case err != nil && time.Since(since) > ReconnectTimeout:
			return nil, &goneError{err}
		case err != nil && conn != nil && !isUnsent(err):
			if req.Method == http.MethodPost {
				return nil, fmt.Errorf(
					"the cairn process that owns the store ended before it responded; "+
						"check whether the change was made, and repeat it if not: %w",
					err,
				)
			}
			lostOne = true
		}
		t.drop(ctx, conn)
		if err := Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// goneError is the error of a request for which no owner was found within ReconnectTimeout.
type goneError struct{ error }

func (e *goneError) Unwrap() error { return e.error }

// isRefused reports whether the owner took nothing because it is ending. An owner with damaged data stays, and would
// refuse again. The answer can still be read.
func isRefused(resp *http.Response) bool {
	if resp.StatusCode != http.StatusServiceUnavailable {
		return false
	}
	body, err := io.ReadAll(resp.Body) // in memory: the transport has read all of it
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return err != nil || IsConnectionLost(api.DecodeError(resp.StatusCode, body))
}

// sendOnce makes one attempt. The request keeps its body (GetBody), so that there can be another attempt.
func sendOnce(conn *client.Connection, req *http.Request) (*http.Response, error) {
	next := conn.API.HTTP.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	try := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		try.Body = body
	}
	resp, err := next.RoundTrip(try)
	if err != nil || isStream(resp) {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// streams are the media types of answers that have no end, or may be larger than memory: events, exported logs and
// pages of shared sessions, whose readers notice a cut.
var streams = []string{"text/event-stream", "application/x-ndjson", "text/html"}

func isStream(resp *http.Response) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return slices.Contains(streams, kind)
}

// isUnsent reports whether the request failed before anything was sent.
func isUnsent(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}

// Connect returns the connection, and opens one if needed. The end of ctx ends the wait also while another request opens
// one.
func (t *ReconnectTransport) Connect(ctx context.Context) (*client.Connection, error) {
	if !send(ctx, t.lock, struct{}{}) {
		return nil, context.Cause(ctx)
	}
	defer t.unlock()
	if t.conn != nil {
		return t.conn, nil
	}
	conn, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	t.conn = conn
	return conn, nil
}

func (t *ReconnectTransport) unlock() { <-t.lock }

// drop closes a connection that failed, unless another request did.
func (t *ReconnectTransport) drop(ctx context.Context, conn *client.Connection) {
	if !send(ctx, t.lock, struct{}{}) {
		return // the next request drops it
	}
	defer t.unlock()
	if conn == nil || t.conn != conn {
		return
	}
	t.conn = nil
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_ = conn.Close(ctx) // it was lost
}

// Release returns the connection to be closed by the caller, nil if there is no connection.
func (t *ReconnectTransport) Release() *client.Connection {
	t.lock <- struct{}{}
	defer t.unlock()
	conn := t.conn
	t.conn = nil
	return conn
}
