package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Local returns a transport that calls h directly, so that a client in the server's own process takes the same way as
// any other. Bodies stream in both directions; ending the request's context or closing the answer's body ends the
// handler's context. A panic of h becomes an error of the exchange.
func Local(h http.Handler) http.RoundTripper { return local{h} }

type local struct{ handler http.Handler }

// RoundTrip returns when the handler has written its header.
func (l local) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	// Give the handler the request in the form that a server would.
	in := req.Clone(ctx)
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = "local"
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &localWriter{header: http.Header{}, body: pw, started: make(chan struct{})}
	go func() { // ends with the handler, whose context ends with the exchange
		defer cancel(nil)
		defer in.Body.Close()
		defer func() {
			p := recover()
			if err, ok := p.(error); ok &&
				errors.Is(err, http.ErrAbortHandler) { // as the other end of a connection sees it
				w.finish(io.ErrUnexpectedEOF)
				return
			}
			if p != nil {
				w.finish(fmt.Errorf("the handler panicked: %v", p))
				return
			}
			w.finish(nil)
		}()
		l.handler.ServeHTTP(w, in)
	}()
	// Wait for the header, or for the end of the request.
	select {
	case <-w.started:
	case <-req.Context().Done():
		pr.CloseWithError(context.Cause(req.Context()))
		return nil, context.Cause(req.Context())
	}
	if w.err != nil {
		return nil, w.err
	}
	// From here on the end of the request breaks the body.
	stop := context.AfterFunc(req.Context(), func() { pr.CloseWithError(context.Cause(req.Context())) })
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &localBody{pr, stop, cancel}, ContentLength: -1, Request: req,
	}, nil
}

// localWriter is the handler's side. Its fields are the handler's until started is closed; then status, sent and err
// no longer change.
type localWriter struct {
	header  http.Header
	body    *io.PipeWriter
	once    sync.Once
	started chan struct{}
	status  int
	sent    http.Header
	err     error // the handler failed before it wrote anything
}

func (w *localWriter) Header() http.Header { return w.header }

func (w *localWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

func (w *localWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush has nothing to do: what is written is there.
func (w *localWriter) Flush() { w.WriteHeader(http.StatusOK) }

func (w *localWriter) finish(err error) {
	w.once.Do(func() {
		w.status, w.sent, w.err = http.StatusOK, w.header.Clone(), err
		close(w.started)
	})
	w.body.CloseWithError(err)
}

// localBody is the client's side.
type localBody struct {
	*io.PipeReader
	stop   func() bool
	cancel context.CancelCauseFunc
}

// Close ends the exchange.
func (b *localBody) Close() error {
	b.stop()
	b.cancel(context.Canceled)
	return b.PipeReader.Close()
}
