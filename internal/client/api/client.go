package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Client speaks to one server. Its methods are safe for concurrent use; every error is a *session.Error, the server's
// own, or a *TransportError, or the end of ctx.
type Client struct {
	HTTP *http.Client // nil is http.DefaultClient; one with a total timeout breaks streams
	Base string       // like http://127.0.0.1:4096; "" with a transport that needs none
	Auth Auth
	// Pace is the least time between two reads of an event stream, which gathers small events; 0 reads each at once.
	Pace time.Duration
	// Directory is the location of requests that name none; "" leaves it to the server.
	Directory string
	Timezone  session.TimeZone // of new sessions that name none; "" leaves it to the server
	// IsLocal reports that the server is this user's on this machine, so that its directories can be looked at here.
	IsLocal bool
}

// In returns a client of the same server whose requests name another directory.
func (c *Client) In(directory string) *Client {
	there := *c
	there.Directory = directory
	return &there
}

// Auth identifies the caller: by a Secret, else by a Password, else not at all.
type Auth struct {
	Secret   string
	User     string // "opencode" by default
	Password string
}

// Header is the Authorization header, "" without credentials.
func (a Auth) Header() string {
	switch {
	case a.Secret != "":
		return "Bearer " + a.Secret
	case a.Password != "":
		user := a.User
		if user == "" {
			user = "opencode"
		}
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+a.Password))
	default:
		return ""
	}
}

// call is one request, and the destination of its response.
type call struct {
	method string
	path   string // of segments made by segments
	query  url.Values
	in     any // nil sends no body
	out    any // nil reads none
	header http.Header

	decodeError func(status int, body []byte) error // nil: DecodeError
}

// apiPath joins escaped segments.
func apiPath(segments ...string) string {
	var b strings.Builder
	b.WriteString("/api")
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// sendCall sends the call and reads the response into its out.
func (c *Client) sendCall(ctx context.Context, k call) error {
	resp, err := c.send(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if k.out == nil {
		_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
		return k.transportError(ctx, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return k.transportError(ctx, err)
	}
	if err := json.Unmarshal(body, k.out, jsontext.AllowInvalidUTF8(true)); err != nil {
		return &TransportError{Op: k.name(), Err: fmt.Errorf("malformed response: %w", err), Foreign: true}
	}
	return nil
}

// maxErrorBody bounds what is read of an answer that says no more than an error.
const maxErrorBody = 64 << 10

// send returns the answer if it is a good one; the caller closes it.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	req, err := c.request(ctx, k)
	if err != nil {
		return nil, err
	}
	hc := c.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, k.transportError(ctx, err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return nil, k.transportError(ctx, err)
	}
	if k.decodeError != nil {
		return nil, k.decodeError(resp.StatusCode, body)
	}
	return nil, DecodeError(resp.StatusCode, body)
}

func (c *Client) request(ctx context.Context, k call) (*http.Request, error) {
	var body io.Reader
	if k.in != nil {
		b, err := json.Marshal(k.in, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	q := k.query
	if q == nil {
		q = url.Values{}
	}
	// all asks for the additional fields and kinds of cairn.
	q.Set("all", "1")
	base := c.Base
	if base == "" {
		base = "http://localhost"
	}
	req, err := http.NewRequestWithContext(ctx, k.method, strings.TrimSuffix(base, "/")+k.path+"?"+q.Encode(), body)
	if err != nil {
		return nil, &TransportError{Op: k.name(), Err: err}
	}
	// Headers of the call first, then those that every request has.
	for name, values := range k.header {
		req.Header[name] = values
	}
	if k.method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	if a := c.Auth.Header(); a != "" {
		req.Header.Set("Authorization", a)
	}
	if c.Directory != "" {
		req.Header.Set("X-Opencode-Directory", url.PathEscape(c.Directory))
	}
	return req, nil
}

func (k call) name() string { return k.method + " " + k.path }

// transportError wraps a failure of the transport, unless the caller ended the exchange.
func (k call) transportError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // its text repeats the URL
	}
	return &TransportError{Op: k.name(), Err: err}
}
