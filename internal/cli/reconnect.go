package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
)

// reconnectTransport sends a command's requests to the owner of the store. An owner may end at any time: requests that
// it did not take, and those that are safe to repeat, are sent to the next owner within ReconnectTimeout.
type reconnectTransport struct {
	host    Host
	options Options

	mu   sync.Mutex // guards conn
	conn *Connection
}

// refusalTimeout is how long an ending owner may refuse requests. The delays are the first and the longest between two
// attempts.
const (
	refusalTimeout  = 5 * time.Second
	firstRetryDelay = 20 * time.Millisecond
	lastRetryDelay  = time.Second
)

// RoundTrip implements http.RoundTripper. When it returns, the whole answer has been read, unless it is a stream.
func (t *reconnectTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // each try has a body of its own
	}
	ctx, since, lostOne := req.Context(), time.Now(), false
	for wait := firstRetryDelay; ; wait = min(2*wait, lastRetryDelay) {
		conn, err := t.connect(ctx)
		var resp *http.Response
		if err == nil {
			resp, err = sendOnce(conn, req)
		}
		switch {
		case ctx.Err() != nil:
			return resp, cmp.Or(err, ctx.Err())
		case err == nil && lostOne && req.Method == http.MethodDelete && resp.StatusCode == http.StatusNotFound:
			resp.StatusCode = http.StatusNoContent // the one before us deleted it and could not say so any more
			return resp, nil
		case err == nil && (!isRefused(resp) || time.Since(since) > refusalTimeout):
			return resp, nil
		case err != nil && conn == nil && !follow.IsConnectionLost(err), err != nil && time.Since(since) > follow.ReconnectTimeout:
			return nil, err
		case err != nil && conn != nil && !isUnsent(err):
			if req.Method == http.MethodPost {
				return nil, fmt.Errorf(
					"the cairn process that owns the store ended before it responded; "+
						"check whether the change was made, and repeat the command if not: %w",
					err,
				)
			}
			lostOne = true
		}
		t.drop(ctx, conn)
		if err := follow.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// isRefused reports whether the owner took nothing because it is ending. An owner with damaged data stays, and would
// refuse again. The answer can still be read.
func isRefused(resp *http.Response) bool {
	if resp.StatusCode != http.StatusServiceUnavailable {
		return false
	}
	body, err := io.ReadAll(resp.Body) // exchange has it all
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return err != nil || follow.IsConnectionLost(api.DecodeError(resp.StatusCode, body))
}

// sendOnce makes one attempt. The request keeps its body (GetBody), so that there can be another attempt.
func sendOnce(conn *Connection, req *http.Request) (*http.Response, error) {
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
	if err != nil || strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
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

// isUnsent reports whether the request failed before anything was sent.
func isUnsent(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}

// connect returns the connection, and opens one if needed.
func (t *reconnectTransport) connect(ctx context.Context) (*Connection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		return t.conn, nil
	}
	conn, err := t.host.Open(ctx, t.options)
	if err != nil {
		return nil, err
	}
	t.conn = conn
	return conn, nil
}

// drop closes a connection that failed, unless another request did.
func (t *reconnectTransport) drop(ctx context.Context, conn *Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if conn == nil || t.conn != conn {
		return
	}
	t.conn = nil
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	_ = conn.Close(ctx) // it was lost
}

// release returns the connection to be closed by the caller, nil if there is no connection.
func (t *reconnectTransport) release() *Connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	conn := t.conn
	t.conn = nil
	return conn
}
