package acp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxMessage bounds a message of the client in bytes: a prompt with images fits.
const maxMessage = 64 << 20

// maxRequests bounds the requests of the client that are answered at once.
const maxRequests = 128

// message is a request, a notification or an answer of JSON-RPC 2.0, a line each.
type message struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *rpcError      `json:"error,omitzero"`
}

// rpcError is the error of an answer.
type rpcError struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`
}

func (e *rpcError) Error() string { return e.Message }

// The codes of errors, by JSON-RPC 2.0 and the Agent Client Protocol.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeAuthRequired   = -32000
	codeNotFound       = -32002
	codeCancelled      = -32800
)

func rpcErrorf(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// handler begins to answer a request, or takes a notification, in the order of the messages; it does not wait. What it
// returns is called in a goroutine of its own and gives the result; nil is none.
type handler func(method string, params jsontext.Value) func(ctx context.Context) (any, error)

// errClosed is the error of calls when the client has closed the connection.
var errClosed = errors.New("the client has closed the connection")

// errCancelled is the cause with which the client ends a request.
var errCancelled = errors.New("the client has cancelled the request")

// conn is the connection with a client. It is safe for concurrent use.
type conn struct {
	writing sync.Mutex // guards out
	out     io.Writer

	mu      sync.Mutex // guards the rest
	last    int64
	waiting map[string]chan message            // for answers of the client, by the id
	running map[string]context.CancelCauseFunc // requests of the client, by the id
	closed  bool
}

func newConn(out io.Writer) *conn {
	return &conn{out: out, waiting: map[string]chan message{}, running: map[string]context.CancelCauseFunc{}}
}

// serve reads messages until they end, and then ends the requests that run and waits for them.
func (c *conn) serve(ctx context.Context, in io.Reader, handle handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var requests sync.WaitGroup
	defer requests.Wait()
	defer cancel(errClosed)
	defer c.end()
	slots := make(chan struct{}, maxRequests)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m, jsontext.AllowInvalidUTF8(true)); err != nil {
			c.answer(nil, nil, rpcErrorf(codeParse, "a line is not a JSON-RPC message"))
			continue
		}
		switch {
		case m.Method == "" && m.ID != nil:
			c.takeAnswer(m)
		case m.Method == "":
			c.answer(nil, nil, rpcErrorf(codeInvalidRequest, "a message has neither a method nor an id"))
		case m.Method == "$/cancel_request":
			c.cancelRequest(m.Params)
		case m.ID == nil:
			_ = handle(m.Method, m.Params)
		default:
			select {
			case slots <- struct{}{}:
				run, rctx := handle(m.Method, m.Params), c.begin(ctx, m.ID)
				requests.Go(func() {
					defer func() { <-slots }()
					c.run(rctx, m.ID, m.Method, run)
				})
			default:
				c.answer(m.ID, nil, rpcErrorf(codeInternal, "more than %d requests at once", maxRequests))
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a message of the client has more than %d bytes", maxMessage)
	}
	return nil // a pipe that breaks is the end, too
}

// begin returns the context of a request, which the client can cancel.
func (c *conn) begin(ctx context.Context, id jsontext.Value) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[string(id)] = cancel
	return ctx
}

// run answers a request.
func (c *conn) run(ctx context.Context, id jsontext.Value, method string, run func(context.Context) (any, error)) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[string(id)](nil)
		delete(c.running, string(id))
	}()
	if run == nil {
		c.answer(id, nil, rpcErrorf(codeNoMethod, "there is no method %q", method))
		return
	}
	result, err := run(ctx)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errCancelled):
		c.answer(id, nil, rpcErrorf(codeCancelled, "%v", errCancelled))
	case err != nil:
		c.answer(id, nil, describeError(err))
	default:
		then, ok := result.(later)
		if !ok {
			c.answer(id, result, nil)
			return
		}
		c.answer(id, then.result, nil)
		then.run()
	}
}

// later is a result with what is to be done once it was sent.
type later struct {
	result any
	run    func()
}

func (c *conn) cancelRequest(params jsontext.Value) {
	var p struct {
		RequestID jsontext.Value `json:"requestId"`
	}
	_ = json.Unmarshal(params, &p) // no such request then
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[string(p.RequestID)]; cancel != nil {
		cancel(errCancelled)
	}
}

func (c *conn) answer(id jsontext.Value, result any, failure *rpcError) {
	if id == nil {
		id = jsontext.Value("null")
	}
	m := message{ID: id, Error: failure}
	if failure == nil {
		raw, err := encode(result)
		if err != nil {
			m.Error = rpcErrorf(codeInternal, "the result cannot be encoded: %v", err)
		}
		m.Result = raw
	}
	c.send(m)
}

func encode(v any) (jsontext.Value, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// send writes a message. A client that is gone does not read it.
func (c *conn) send(m message) {
	m.Version = "2.0"
	raw, err := encode(m)
	if err != nil {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = c.out.Write(append(raw, '\n'))
}

// notify sends a notification.
func (c *conn) notify(method string, params any) {
	if raw, err := encode(params); err == nil {
		c.send(message{Method: method, Params: raw})
	}
}

// call sends a request to the client and reads the result into out. When ctx ends, the client is told so.
func (c *conn) call(ctx context.Context, method string, params, out any) error {
	raw, err := encode(params)
	if err != nil {
		return err
	}
	// Expect an answer before the request is sent.
	reply := make(chan message, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed
	}
	c.last++
	id := fmt.Sprint(c.last)
	c.waiting[id] = reply
	c.mu.Unlock()
	c.send(message{ID: jsontext.Value(id), Method: method, Params: raw})
	// Wait for it.
	select {
	case m, ok := <-reply:
		if !ok {
			return errClosed
		}
		if m.Error != nil {
			return m.Error
		}
		return json.Unmarshal(m.Result, out, jsontext.AllowInvalidUTF8(true))
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		c.notify("$/cancel_request", map[string]jsontext.Value{"requestId": jsontext.Value(id)})
		return context.Cause(ctx)
	}
}

func (c *conn) takeAnswer(m message) {
	c.mu.Lock()
	reply := c.waiting[string(m.ID)]
	delete(c.waiting, string(m.ID))
	c.mu.Unlock()
	if reply != nil {
		reply <- m
	}
}

// end ends the calls that wait for the client.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, reply := range c.waiting {
		close(reply)
	}
	clear(c.waiting)
}
