package replay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Player answers requests from a cassette. Each recorded exchange is played once: a request gets the first one left
// that has the same method, the same path and the same body. Bodies are compared by meaning, without what changes
// from run to run: cache keys, and, if nothing else fits, the system texts, which tell date and directory. It is safe
// for concurrent use.
type Player struct {
	path string

	mu   sync.Mutex // guards used
	tape *cassette
	used []bool
}

// Open reads a cassette.
func Open(path string) (*Player, error) {
	tape, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	return &Player{path: path, tape: tape, used: make([]bool, len(tape.Interactions))}, nil
}

// Remaining returns how many recorded exchanges have not been asked for.
func (p *Player) Remaining() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, used := range p.used {
		if !used {
			n++
		}
	}
	return n
}

// RoundTrip implements http.RoundTripper. A request that was not recorded gets an *llm.Error of class InvalidRequest
// that says what is different: trying again cannot help.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	c := newCleaner(req.Header)
	asked := request{Method: req.Method, URL: c.url(req.URL)}
	asked.Body, asked.BodyEncoding = encodeBody(c.body(body))
	found, err := p.find(asked)
	if err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	return answer(req, found.Response), nil
}

// find takes the exchange that was recorded for asked.
func (p *Player) find(asked request) (*interaction, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, strict := range []bool{true, false} {
		want := canonical(asked, strict)
		for i := range p.tape.Interactions {
			x := &p.tape.Interactions[i]
			if !p.used[i] && sameAddress(asked, x.Request) && bytes.Equal(want, canonical(x.Request, strict)) {
				p.used[i] = true
				return x, nil
			}
		}
	}
	return nil, p.mismatch(asked)
}

// mismatch says how asked differs from the next exchange that was recorded.
func (p *Player) mismatch(asked request) *llm.Error {
	for i, x := range p.tape.Interactions {
		if !p.used[i] {
			return unanswered(
				"the recording %s has no answer to this request: next is exchange %d, and %s", p.path, i+1,
				difference(x.Request, asked),
			)
		}
	}
	return unanswered(
		"the recording %s ends here: all %d exchanges have been played; what was recorded went no further, or was cut off",
		p.path, len(p.used),
	)
}

func unanswered(format string, args ...any) *llm.Error {
	return &llm.Error{Class: llm.InvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// sameAddress compares method and path. A segment {…} of the recorded path stands for anything: account names are
// taken out of shared recordings.
func sameAddress(asked, recorded request) bool {
	if asked.Method != recorded.Method {
		return false
	}
	a, b := segments(asked.URL), segments(recorded.URL)
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

func segments(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil {
		return []string{raw}
	}
	return strings.Split(strings.Trim(u.Path, "/"), "/")
}

func answer(req *http.Request, r response) *http.Response {
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
