// Package peer is a client of a server with OpenCode's V1 contract: cairn's, or OpenCode's own. The command line uses it
// for what is done as OpenCode does it, and for servers elsewhere.
//
// What a server says is read as it comes, by few fields; what it has beyond them does no harm.
package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
)

// Version is the OpenCode whose contract this is.
const Version = "1.18.33"

// Client speaks to one server. Its methods are safe for concurrent use.
type Client struct {
	HTTP      *http.Client // nil is http.DefaultClient; one with a total timeout breaks streams
	Base      string       // like http://127.0.0.1:4096
	Auth      api.Auth
	Directory string // the location of requests; "" leaves it to the server
}

// Error is what a server refused. Message is for people; where the server says nothing, it is the status.
type Error struct {
	Op      string // like "GET /config/providers"
	Status  int
	Name    string // OpenCode's name of the failure, "" if there is none
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Op, e.Status, e.Message)
}

// Unreachable is a server that could not be reached, or that broke off.
type Unreachable struct {
	Op  string
	Err error
}

func (e *Unreachable) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unreachable) Unwrap() error { return e.Err }

// maxAnswer bounds one answer. The largest is a session's history.
const maxAnswer = 1 << 30

// Get reads what is at the path into out.
func (c *Client) Get(ctx context.Context, path string, q url.Values, out any) error {
	return c.do(ctx, request{method: http.MethodGet, path: path, query: q, out: out})
}

// Post sends in, nil for nothing, and reads the answer into out, if there is one.
func (c *Client) Post(ctx context.Context, path string, in, out any) error {
	return c.do(ctx, request{method: http.MethodPost, path: path, in: in, out: out})
}

// request is one exchange.
type request struct {
	method, path string
	query        url.Values
	in, out      any
	cursor       string // of a stream
}

func (r request) op() string { return r.method + " " + r.path }

func (c *Client) do(ctx context.Context, r request) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.broken(ctx, r, err)
	}
	if r.out == nil || len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, r.out, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return c.broken(ctx, r, fmt.Errorf("this is no answer of a server of OpenCode's contract: %w", err))
	}
	return nil
}

// send returns a good answer, whose body the caller closes.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.in != nil {
		b, err := json.Marshal(r.in, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", r.op(), err)
		}
		body = bytes.NewReader(b)
	}
	target := strings.TrimSuffix(c.Base, "/") + r.path
	if q := r.query.Encode(); q != "" {
		target += "?" + q
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, &Unreachable{r.op(), err}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a := c.Auth.Header(); a != "" {
		req.Header.Set("Authorization", a)
	}
	if r.cursor != "" {
		req.Header.Set("Last-Event-ID", r.cursor)
	}
	if c.Directory != "" {
		req.Header.Set("X-Opencode-Directory", url.PathEscape(c.Directory))
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, c.broken(ctx, r, err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what came of it is enough
	return nil, refusal(r.op(), resp, said)
}

// refusal reads OpenCode's envelopes: {name, data: {message}} and {error|errors|message}.
func refusal(op string, resp *http.Response, body []byte) *Error {
	var said struct {
		Name    string `json:"name"`
		Message string `json:"message"`
		Data    struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &said, jsontext.AllowInvalidUTF8(true)) // what it does not say stays empty
	e := &Error{Op: op, Status: resp.StatusCode, Name: said.Name, Message: said.Data.Message}
	if e.Message == "" {
		e.Message = said.Message
	}
	if e.Message == "" {
		e.Message = http.StatusText(resp.StatusCode)
	}
	return e
}

func (c *Client) broken(ctx context.Context, r request, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // its text repeats the URL, which may hold a password
	}
	return &Unreachable{r.op(), err}
}
