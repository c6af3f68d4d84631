package lsp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"
)

// maxOpenCalls bounds the requests that a server has not answered, also those whose caller gave up.
const maxOpenCalls = 64

// handler receives what a server sends. Its methods are called one at a time and must not wait for the server.
type handler interface {
	handleNotification(method string, params jsontext.Value)
	handleRequest(method string, params jsontext.Value) (result any, err *jsonrpc2.Error)
}

// conn is a connection to a server. Its methods are safe for concurrent use.
type conn struct {
	stream *stream
	rpc    *jsonrpc2.Conn
	ids    atomic.Uint64
	open   chan struct{} // an element for each call without an answer
}

// newConn connects to a server. The caller must call close.
func newConn(e *endpoint, h handler) *conn {
	c := &conn{open: make(chan struct{}, maxOpenCalls)}
	c.stream = newStream(e, h.handleNotification)
	c.rpc = jsonrpc2.NewConn(context.Background(), c.stream, requestHandler{h}, jsonrpc2.SetLogger(discard{}))
	return c
}

// discard is a logger of jsonrpc2, which would write to the standard error.
type discard struct{}

func (discard) Printf(string, ...any) {}

// requestHandler answers the requests of a server.
type requestHandler struct{ handler }

func (h requestHandler) Handle(ctx context.Context, rpc *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var params jsontext.Value
	if r.Params != nil {
		params = jsontext.Value(*r.Params)
	}
	if r.Notif {
		h.handleNotification(r.Method, params)
		return
	}
	result, failure := h.handleRequest(r.Method, params)
	if failure != nil {
		_ = rpc.ReplyWithError(ctx, r.ID, failure)
		return
	}
	_ = rpc.Reply(ctx, r.ID, encode(result))
}

// encode returns v as JSON; null if that is not possible.
func encode(v any) jsontext.Value {
	out, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return out
}

func (c *conn) notify(method string, params any) error {
	return c.rpc.Notify(context.Background(), method, encode(params))
}

// call sends a request and waits for its answer. When ctx ends it tells the server and returns the cause. A server that
// leaves the most open requests unanswered until a deadline hangs; its connection is ended.
func (c *conn) call(ctx context.Context, method string, params any) (jsontext.Value, error) {
	// Reserve a slot.
	select {
	case c.open <- struct{}{}:
	case <-c.ended():
		return nil, jsonrpc2.ErrClosed
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && len(c.open) == maxOpenCalls {
			return nil, c.stream.fail(fmt.Errorf("%d requests have no answer", maxOpenCalls))
		}
		return nil, context.Cause(ctx)
	}
	// Send.
	id := jsonrpc2.ID{Num: c.ids.Add(1)}
	waiter, err := c.rpc.DispatchCall(ctx, method, encode(params), jsonrpc2.PickID(id))
	if err != nil {
		<-c.open
		return nil, err
	}
	type answer struct {
		result jsontext.Value
		err    error
	}
	// Wait, or cancel. The library forgets a request only with its answer, so a goroutine waits for it in any case.
	answers := make(chan answer, 1)
	go func() {
		var a answer
		a.err = waiter.Wait(context.Background(), &a.result)
		answers <- a
		<-c.open
	}()
	select {
	case a := <-answers:
		return a.result, describeFailure(a.err)
	case <-ctx.Done():
		_ = c.notify("$/cancelRequest", map[string]any{"id": id.Num})
		return nil, context.Cause(ctx)
	}
}

// describeFailure returns the message of a server instead of the library's error.
func describeFailure(err error) error {
	if failure, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		return errors.New(cleanText(failure.Message, maxReason))
	}
	return err
}

// ended is closed when the connection has ended.
func (c *conn) ended() <-chan struct{} { return c.rpc.DisconnectNotify() }

// close ends the connection and waits for its goroutines, except the library's reader, which ends with the input. It is
// called once.
func (c *conn) close() {
	_ = c.rpc.Close()
	_ = c.stream.Close()
	c.stream.writer.Wait()
	for range maxOpenCalls {
		c.open <- struct{}{}
	}
}
