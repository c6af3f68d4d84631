package plugin

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/session"
)

// apiProxy answers the requests of a plugin host.
type apiProxy struct {
	set     *Set
	child   *child // whose requests these are
	address string // what plugins know as that of the server

	mu      sync.Mutex                   // guards the rest
	streams map[int64]context.CancelFunc // of requests whose answers are not complete
	printed int                          // lines that plugins printed
}

// handle returns the answer to a request.
func (a *apiProxy) handle(method string, params jsontext.Value) answerFunc {
	switch method {
	case "fetch":
		return a.fetch(params)
	case "tool/ask":
		return func(ctx context.Context) (any, error) { return nil, a.set.ask(ctx, a.child.peer, params) }
	case "auth/get":
		return func(context.Context) (any, error) { return a.findCredential(params) }
	default:
		return failWith(fmt.Errorf("unknown method %q", method))
	}
}

func failWith(err error) answerFunc {
	return func(context.Context) (any, error) { return nil, err }
}

// handleNotification takes a notification.
func (a *apiProxy) handleNotification(method string, params jsontext.Value) {
	switch method {
	case "fetch/cancel":
		var p struct {
			Stream int64 `json:"stream"`
		}
		if json.Unmarshal(params, &p) == nil {
			a.cancel(p.Stream)
		}
	case "tool/metadata":
		a.set.showProgress(a.child.peer, params)
	case "response/chunk", "response/end":
		a.set.takeChunk(method, params)
	}
}

// maxPrinted bounds the lines of plugins that are logged.
const maxPrinted = 100

// print logs a line that a plugin wrote to the standard output of the program.
func (a *apiProxy) print(line string) {
	a.mu.Lock()
	a.printed++
	n := a.printed
	a.mu.Unlock()
	if n <= maxPrinted {
		text := session.ClipText(string(redact.MaskText([]byte(session.ClipText(line, 2000)))), 500)
		a.set.pool.options.Logger.Info("a plugin printed", "text", text)
	}
}

// apiRequest is a request of a plugin to the API.
type apiRequest struct {
	Stream  int64             `json:"stream"`
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"` // base64
}

// apiHead is the beginning of the answer.
type apiHead struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
}

// directoryKey is the key of the directory in the context of a request.
type directoryKey struct{}

func newContext(ctx context.Context, directory string) context.Context {
	return context.WithValue(ctx, directoryKey{}, directory)
}

// DirectoryOf returns the directory of the plugins that make a request of Options.API, by its context; "" for others.
func DirectoryOf(ctx context.Context) string {
	directory, _ := ctx.Value(directoryKey{}).(string)
	return directory
}

// maxStreams bounds the answers that are not complete.
const maxStreams = 32

// fetch returns what sends a request to the API and returns the beginning of the answer. The body follows in
// notifications. The request can be canceled as soon as fetch returns.
func (a *apiProxy) fetch(params jsontext.Value) answerFunc {
	var q apiRequest
	if err := json.Unmarshal(params, &q); err != nil {
		return failWith(err)
	}
	// The request ends with the plugin host, or when the plugin cancels it.
	ctx, cancel := context.WithCancel(newContext(context.Background(), a.set.currentLocation().Directory))
	if err := a.add(q.Stream, cancel); err != nil {
		cancel()
		return failWith(err)
	}
	return func(context.Context) (any, error) {
		r, err := a.newRequest(ctx, q)
		if err != nil {
			a.cancel(q.Stream)
			return nil, err
		}
		// The answer's head is returned, and its body sent meanwhile.
		go func() {
			select {
			case <-a.child.peer.done:
				cancel()
			case <-ctx.Done():
			}
		}()
		begun := make(chan responseHead, 1)
		go func() {
			defer a.cancel(q.Stream)
			a.answerAPI(r, q.Stream, begun)
		}()
		b := <-begun
		return b.head, b.err
	}
}

// newRequest returns the request of a plugin to the server.
func (a *apiProxy) newRequest(ctx context.Context, q apiRequest) (*http.Request, error) {
	u, err := url.Parse(q.URL)
	if own, _ := url.Parse(a.address); err != nil || own == nil || u.Host != own.Host {
		return nil, fmt.Errorf("%.200q is not an address of this server", q.URL)
	}
	body, err := base64.StdEncoding.DecodeString(q.Body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, q.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range q.Headers {
		if name := http.CanonicalHeaderKey(name); name != "Authorization" && name != "Cookie" && name != "Host" {
			r.Header.Set(name, value)
		}
	}
	return r, nil
}

// responseHead is the beginning of an answer, or the error in its place.
type responseHead struct {
	head apiHead
	err  error
}

// answerAPI sends a request to the API, gives the beginning of its answer to begun, and then sends the body.
func (a *apiProxy) answerAPI(r *http.Request, stream int64, begun chan<- responseHead) {
	answer, err := a.set.pool.options.API.RoundTrip(r)
	if err != nil {
		begun <- responseHead{err: err}
		return
	}
	defer func() { _ = answer.Body.Close() }()
	head := apiHead{Status: answer.StatusCode, Headers: map[string]string{}}
	for name := range answer.Header {
		head.Headers[name] = answer.Header.Get(name)
	}
	begun <- responseHead{head: head}
	a.sendBody(stream, answer.Body)
}

// maxChunk bounds a piece of a body in bytes.
const maxChunk = 32 << 10

// sendBody sends the body of an answer in pieces, as they come.
func (a *apiProxy) sendBody(stream int64, body io.Reader) {
	buffer := make([]byte, maxChunk)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			data := base64.StdEncoding.EncodeToString(buffer[:n])
			if a.child.peer.notify("fetch/chunk", map[string]any{"stream": stream, "data": data}) != nil {
				return
			}
		}
		if err != nil {
			end := map[string]any{"stream": stream}
			if !errors.Is(err, io.EOF) {
				end["error"] = err.Error()
			}
			_ = a.child.peer.notify("fetch/end", end) // the program has ended
			return
		}
	}
}

// add notes the stream of a request.
func (a *apiProxy) add(stream int64, cancel context.CancelFunc) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.streams) >= maxStreams {
		return errors.New("too many requests at once")
	}
	a.streams[stream] = cancel
	return nil
}

// cancel ends a request.
func (a *apiProxy) cancel(stream int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.streams[stream]; cancel != nil {
		cancel()
	}
	delete(a.streams, stream)
}
