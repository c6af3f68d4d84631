package mcp

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sseTransport is the SDK's transport for the older SSE, whose stream ends with Close instead of with the context of
// Connect, which has the timeout of connecting.
type sseTransport struct{ inner sdk.SSEClientTransport }

// Connect implements sdk.Transport.
func (t *sseTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	inTime := context.AfterFunc(ctx, cancel)
	conn, err := t.inner.Connect(life)
	if err == nil && !inTime() {
		_ = conn.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return sseConnection{conn, cancel}, nil
}

type sseConnection struct {
	sdk.Connection
	cancel context.CancelFunc
}

// Close ends the stream.
func (c sseConnection) Close() error {
	defer c.cancel()
	return c.Connection.Close()
}

// loginTripper adds the token of a login to requests. A refused request is repeated once if the login helps.
type loginTripper struct {
	base  http.RoundTripper
	login auth.OAuthHandler
}

// RoundTrip implements http.RoundTripper.
func (t *loginTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.try(r)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	if err := t.login.Authorize(r.Context(), r, resp); err != nil {
		return nil, err
	}
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = body
	}
	return t.try(r)
}

// try sends the request with the current token.
func (t *loginTripper) try(r *http.Request) (*http.Response, error) {
	source, err := t.login.TokenSource(r.Context())
	if err != nil {
		return nil, err
	}
	if source != nil {
		token, err := source.Token()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token.AccessToken)
	}
	return t.base.RoundTrip(r)
}
