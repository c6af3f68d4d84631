package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Player answers requests from a cassette. Each recorded exchange is played once: a request gets the first remaining
// one with the same method, path and body. Bodies are compared by meaning, without fields that change between runs:
// cache keys and, if there is no other match, system texts, which contain the date and the directory. It is safe for
// concurrent use.
type Player struct {
	path string

	mu   sync.Mutex // guards used
	tape *cassette
	used []bool
}

// Open reads a cassette.
func Open(path string) (*Player, error) {
	tape, err := load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("recording %s: %w; cairn run --record writes one", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	return &Player{path: path, tape: tape, used: make([]bool, len(tape.Interactions))}, nil
}

// RoundTrip implements http.RoundTripper. A request that was not recorded gets an *llm.Error of class InvalidRequest
// that describes the difference: a retry cannot help.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	c := newCleaner(req.Header)
	asked := request{Method: req.Method, URL: c.cleanURL(req.URL)}
	asked.Body, asked.BodyEncoding = encodeBody(c.cleanBody(body))
	found, err := p.find(asked)
	if err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	return newResponse(req, found.Response), nil
}

// find takes the exchange for a request.
func (p *Player) find(asked request) (*interaction, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, strict := range []bool{true, false} {
		want := canonicalBody(asked, strict)
		for i := range p.tape.Interactions {
			x := &p.tape.Interactions[i]
			if !p.used[i] && sameAddress(asked, x.Request) && bytes.Equal(want, canonicalBody(x.Request, strict)) {
				p.used[i] = true
				return x, nil
			}
		}
	}
	return nil, p.newMismatch(asked)
}

// newMismatch returns the error of a request that differs from the next recorded exchange.
func (p *Player) newMismatch(asked request) *llm.Error {
	for i, x := range p.tape.Interactions {
		if !p.used[i] {
			return newUnanswered(
				"the recording %s has no answer to this request: next is exchange %d, and %s", p.path, i+1,
				describeDifference(x.Request, asked),
			)
		}
	}
	return newUnanswered(
		"the recording %s ends here: all %d exchanges have been played; what was recorded went no further, or was cut off",
		p.path, len(p.used),
	)
}

func newUnanswered(format string, args ...any) *llm.Error {
	return &llm.Error{Class: llm.InvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// sameAddress compares method and path. A segment {…} of the recorded path matches any segment: account names are
// removed from shared recordings.
func sameAddress(asked, recorded request) bool {
	if asked.Method != recorded.Method {
		return false
	}
	a, b := splitPath(asked.URL), splitPath(recorded.URL)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !(strings.HasPrefix(b[i], "{") && strings.HasSuffix(b[i], "}")) {
			return false
		}
	}
	return true
}

func splitPath(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil {
		return []string{raw}
	}
	return strings.Split(strings.Trim(u.Path, "/"), "/")
}

func newResponse(req *http.Request, r response) *http.Response {
	body, _ := decodeBody(r.Body, r.BodyEncoding) // load has checked it
	h := http.Header{}
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status)), StatusCode: r.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}
