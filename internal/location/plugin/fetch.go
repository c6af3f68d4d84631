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

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// answers answers what the program of a location asks.
type answers struct {
	set     *Set
	child   *child // whose requests these are
	address string // what plugins know as that of the server

	mu      sync.Mutex                   // guards the rest
	streams map[int64]context.CancelFunc // of requests whose answers are not complete
	printed int                          // lines that plugins printed
}

// handle answers a request.
func (a *answers) handle(ctx context.Context, method string, params jsontext.Value) (any, error) {
	switch method {
	case "fetch":
		return a.fetch(ctx, params)
	case "tool/ask":
		return nil, a.set.ask(ctx, a.child.peer, params)
	case "auth/get":
		return a.findCredential(params)
	default:
		return nil, fmt.Errorf("unknown method %q", method)
	}
}

// notify takes a notification.
func (a *answers) notify(method string, params jsontext.Value) {
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
func (a *answers) print(line string) {
	a.mu.Lock()
	a.printed++
	n := a.printed
	a.mu.Unlock()
	if n <= maxPrinted {
		a.set.pool.options.Logger.Info("a plugin printed", "text", session.ClipText(line, 500))
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

// fetch sends a request to the API and returns the beginning of the answer. Its body follows in notifications.
func (a *answers) fetch(_ context.Context, params jsontext.Value) (any, error) {
	var q apiRequest
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, err
	}
	u, err := url.Parse(q.URL)
	if own, _ := url.Parse(a.address); err != nil || own == nil || u.Host != own.Host {
		return nil, fmt.Errorf("%.200q is no address of this server", q.URL)
	}
	body, err := base64.StdEncoding.DecodeString(q.Body)
	if err != nil {
		return nil, err
	}
	// The request ends with the program, or when the plugin cancels it.
	ctx, cancel := context.WithCancel(newContext(context.Background(), a.set.place().Directory))
	r, err := http.NewRequestWithContext(ctx, q.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	for name, value := range q.Headers {
		if name := http.CanonicalHeaderKey(name); name != "Authorization" && name != "Cookie" && name != "Host" {
			r.Header.Set(name, value)
		}
	}
	if err := a.add(q.Stream, cancel); err != nil {
		cancel()
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
	begun := make(chan begunAnswer, 1)
	go func() {
		defer a.cancel(q.Stream)
		a.answerAPI(r, q.Stream, begun)
	}()
	b := <-begun
	return b.head, b.err
}

// begunAnswer is the beginning of an answer, or why there is none.
type begunAnswer struct {
	head apiHead
	err  error
}

// answerAPI sends a request to the API, gives the beginning of its answer to begun, and then sends the body.
func (a *answers) answerAPI(r *http.Request, stream int64, begun chan<- begunAnswer) {
	answer, err := a.set.pool.options.API.RoundTrip(r)
	if err != nil {
		begun <- begunAnswer{err: err}
		return
	}
	defer func() { _ = answer.Body.Close() }()
	head := apiHead{Status: answer.StatusCode, Headers: map[string]string{}}
	for name := range answer.Header {
		head.Headers[name] = answer.Header.Get(name)
	}
	begun <- begunAnswer{head: head}
	a.sendBody(stream, answer.Body)
}

// maxChunk bounds a piece of a body in bytes.
const maxChunk = 32 << 10

// sendBody sends the body of an answer in pieces, as they come.
func (a *answers) sendBody(stream int64, body io.Reader) {
	buffer := make([]byte, maxChunk)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			data := base64.StdEncoding.EncodeToString(buffer[:n])
			if a.child.peer.tell("fetch/chunk", map[string]any{"stream": stream, "data": data}) != nil {
				return
			}
		}
		if err != nil {
			end := map[string]any{"stream": stream}
			if !errors.Is(err, io.EOF) {
				end["error"] = err.Error()
			}
			_ = a.child.peer.tell("fetch/end", end) // the program has ended
			return
		}
	}
}

// add notes the stream of a request.
func (a *answers) add(stream int64, cancel context.CancelFunc) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.streams) >= maxStreams {
		return errors.New("too many requests at once")
	}
	a.streams[stream] = cancel
	return nil
}

// cancel ends a request.
func (a *answers) cancel(stream int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.streams[stream]; cancel != nil {
		cancel()
	}
	delete(a.streams, stream)
}

// ask asks for a permission, for a call of a tool.
func (s *Set) ask(ctx context.Context, p *peer, params jsontext.Value) error {
	var q struct {
		Call       int64          `json:"call"`
		Permission string         `json:"permission"`
		Patterns   []string       `json:"patterns"`
		Always     []string       `json:"always"`
		Metadata   jsontext.Value `json:"metadata"`
	}
	if err := json.Unmarshal(params, &q); err != nil {
		return err
	}
	call, ok := s.findCall(callKey{p, q.Call})
	if !ok {
		return errors.New("the call has ended")
	}
	return call.ask(ctx, tool.Request{Action: q.Permission, Resources: q.Patterns, Save: q.Always, Metadata: q.Metadata})
}

// showProgress shows the state of a call.
func (s *Set) showProgress(p *peer, params jsontext.Value) {
	var q struct {
		Call     int64          `json:"call"`
		Title    string         `json:"title"`
		Metadata jsontext.Value `json:"metadata"`
	}
	if json.Unmarshal(params, &q) != nil {
		return
	}
	if call, ok := s.findCall(callKey{p, q.Call}); ok && call.progress != nil {
		call.progress(tool.Output{Title: session.ClipText(q.Title, maxTitle), Structured: q.Metadata})
	}
}

// findCall returns the call of a tool that runs.
func (s *Set) findCall(k callKey) (runningCall, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call, ok := s.calls[k]
	return call, ok
}
