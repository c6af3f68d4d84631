package acp

import (
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

// handler takes the messages of the client, in their order. Neither of its functions waits.
type handler struct {
	// begin begins to answer a request. What it returns is called in a goroutine of its own and gives the result; nil is a
	// method that does not exist.
	begin func(method string, params jsontext.Value) answerer
	// notify takes a notification: a message without an id.
	notify func(method string, params jsontext.Value)
}

// answerer gives the result of a request.
type answerer func(ctx context.Context) (any, error)

// errClosed is the error of calls when the client has closed the connection.
var errClosed = errors.New("the client has closed the connection")

// errCancelled is the cause with which the client ends a request.
var errCancelled = errors.New("the client has cancelled the request")

// conn is the connection with a client. It is safe for concurrent use.
type conn struct {
	out *outbox

	mu      sync.Mutex // guards the rest
	last    int64
	waiting map[string]chan message            // for answers of the client, by the id
	running map[string]context.CancelCauseFunc // requests of the client, by the id
	closed  bool
}

func newConn(out io.Writer) *conn {
	return &conn{
		out: newOutbox(out), waiting: map[string]chan message{}, running: map[string]context.CancelCauseFunc{},
	}
}

// serve takes messages until they end, ctx does, or the client does not read. Then it ends the requests that run and
// waits for them.
func (c *conn) serve(ctx context.Context, in io.Reader, handle handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &server{conn: c, handle: handle, slots: make(chan struct{}, maxRequests)}
	defer func() {
		defer c.out.limitFlush()()
		c.end()
		cancel(errClosed)
		s.requests.Wait()
		c.out.close()
	}()
	lines := make(chan line)
	go readLines(ctx, in, lines) // a read from a pipe cannot be stopped, and ends with the process
	for {
		select {
		case l, ok := <-lines:
			if !ok {
				return c.out.failure()
			}
			s.take(ctx, l)
		case <-c.out.failed:
			return c.out.failure()
		case <-ctx.Done():
			return nil
		}
	}
}

// line is a line of the client, or one that was too long.
type line struct {
	text   []byte
	isLong bool
}

// readLines sends the lines of in until they end or ctx does, and closes lines. A pipe that breaks is the end, too.
func readLines(ctx context.Context, in io.Reader, lines chan<- line) {
	defer close(lines)
	r := newLineReader(in, maxMessage)
	for {
		text, err := r.next()
		isLong := errors.Is(err, errLongLine)
		if err != nil && !isLong {
			return
		}
		select {
		case lines <- line{text, isLong}:
		case <-ctx.Done():
			return
		}
	}
}

// server answers the requests of one connection.
type server struct {
	conn     *conn
	handle   handler
	slots    chan struct{} // capacity maxRequests: one for each request that runs
	requests sync.WaitGroup
}

// take begins to answer one message. It does not wait: messages begin in the order in which they came.
func (s *server) take(ctx context.Context, l line) {
	if l.isLong {
		s.conn.refuse(nil, rpcErrorf(codeInvalidRequest, "a message has more than %d bytes", maxMessage))
		return
	}
	if len(l.text) == 0 {
		return
	}
	m, err := parseMessage(l.text)
	switch {
	case err != nil:
		s.conn.refuse(m.ID, err)
	case m.Method == "" && m.ID != nil && (m.Result != nil || m.Error != nil):
		s.conn.takeAnswer(m)
	case m.Method == "":
		s.conn.refuse(m.ID, rpcErrorf(codeInvalidRequest, "a message has neither a method nor a result"))
	case m.Method == "$/cancel_request":
		s.conn.cancelRequest(m.Params)
		if m.ID != nil { // it needs none, and each request has an answer
			s.conn.send(message{ID: m.ID, Result: jsontext.Value("null")}, true)
		}
	case m.ID == nil:
		s.handle.notify(m.Method, m.Params)
	default:
		s.begin(ctx, m)
	}
}

// parseMessage reads a message. With an error it returns the id, if the message has one that can be answered.
func parseMessage(text []byte) (m message, failure *rpcError) {
	options := json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	err := json.Unmarshal(text, &m, options)
	switch {
	case err == nil && isID(m.ID):
		return m, nil
	case err == nil:
		return message{}, rpcErrorf(codeInvalidRequest, "an id must be a string or a number")
	case !jsontext.Value(text).IsValid(options):
		return message{}, rpcErrorf(codeParse, "a line is not JSON")
	}
	var known struct {
		ID jsontext.Value `json:"id"`
	}
	if json.Unmarshal(text, &known, options) != nil || !isID(known.ID) {
		known.ID = nil
	}
	return message{ID: known.ID}, rpcErrorf(codeInvalidRequest, "a line is not a JSON-RPC message")
}

// isID reports whether a message can have the id; nil is a message without one.
func isID(id jsontext.Value) bool {
	if id == nil {
		return true
	}
	switch id.Kind() {
	case 'n', '"', '0':
		return true
	}
	return false
}

// begin begins to answer a request, which the client can cancel.
func (s *server) begin(ctx context.Context, m message) {
	select {
	case s.slots <- struct{}{}:
	default:
		s.conn.refuse(m.ID, rpcErrorf(codeInternal, "more than %d requests at once", maxRequests))
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if !s.conn.noteRunning(m.ID, cancel) {
		<-s.slots
		cancel(nil)
		s.conn.refuse(m.ID, rpcErrorf(codeInvalidRequest, "the id %s is that of a request that still runs", m.ID))
		return
	}
	run := s.handle.begin(m.Method, m.Params)
	s.requests.Go(func() {
		defer func() { <-s.slots }()
		defer cancel(nil)
		s.conn.run(ctx, m, run)
	})
}

// noteRunning notes a request of the client; it reports false if one of the id runs already.
func (c *conn) noteRunning(id jsontext.Value, cancel context.CancelCauseFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[string(id)] != nil {
		return false
	}
	c.running[string(id)] = cancel
	return true
}

// run answers a request with what run returns; nil is a method that does not exist.
func (c *conn) run(ctx context.Context, m message, run answerer) {
	var result any
	var err error = rpcErrorf(codeNoMethod, "there is no method %q", m.Method)
	if run != nil {
		result, err = run(ctx)
	}
	// The id is free when the client has the answer.
	c.mu.Lock()
	delete(c.running, string(m.ID))
	c.mu.Unlock()
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errCancelled):
		c.answer(m.ID, nil, rpcErrorf(codeCancelled, "%v", errCancelled))
	case err != nil:
		c.answer(m.ID, nil, describeError(err))
	default:
		opened, ok := result.(openResult)
		if !ok {
			c.answer(m.ID, result, nil)
			return
		}
		c.answer(m.ID, opened.result, nil)
		opened.start()
	}
}

// openResult is the result of a request that opens a session. Updates of the session follow behind it, so that start is
// called once it was sent.
type openResult struct {
	result any
	start  func()
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

// refuse answers a message that is not handled. It does not wait for the client to read.
func (c *conn) refuse(id jsontext.Value, failure *rpcError) {
	if id == nil {
		id = jsontext.Value("null")
	}
	c.send(message{ID: id, Error: failure}, true)
}

func (c *conn) answer(id jsontext.Value, result any, failure *rpcError) {
	m := message{ID: id, Error: failure}
	if failure == nil {
		if raw, err := encode(result); err != nil {
			m.Error = rpcErrorf(codeInternal, "the result cannot be encoded: %v", err)
		} else {
			m.Result = raw
		}
	}
	c.send(m, false)
}

func encode(v any) (jsontext.Value, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// send queues a message. A client that is gone does not get it.
func (c *conn) send(m message, urgent bool) {
	m.Version = "2.0"
	if raw, err := encode(m); err == nil {
		c.out.put(append(raw, '\n'), urgent)
	}
}

// notify sends a notification.
func (c *conn) notify(method string, params any) {
	if raw, err := encode(params); err == nil {
		c.send(message{Method: method, Params: raw}, false)
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
	c.send(message{ID: jsontext.Value(id), Method: method, Params: raw}, false)
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
