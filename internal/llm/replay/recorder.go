package replay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Recorder passes exchanges through and writes them to a cassette. Answers stream through it unchanged and without
// delay. A failure to write never disturbs the traffic and is reported by Close. It is safe for concurrent use.
type Recorder struct {
	path string
	next http.RoundTripper

	mu    sync.Mutex // guards what follows
	tape  cassette
	ready []bool // by interaction: its answer has ended
	size  int
	err   error
}

// NewRecorder returns a Recorder that sends through next. The file at path is replaced when the first answer ends.
func NewRecorder(path string, next http.RoundTripper) *Recorder {
	meta, _ := json.Marshal(map[string]string{"recordedAt": time.Now().UTC().Format(time.RFC3339)}) // a map of strings
	return &Recorder{path: path, next: next, tape: cassette{Version: version, Metadata: jsontext.Value(meta)}}
}

// RoundTrip implements http.RoundTripper.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	sent := req.Clone(req.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := r.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	c := newCleaner(req.Header, resp.Header)
	index := r.reserve(recordedRequest(req, body, c))
	resp.Body = &tee{body: resp.Body, end: func(answer []byte) {
		r.complete(index, recordedResponse(resp, answer, c), len(body)+len(answer))
	}}
	return resp, nil
}

// readBody reads the whole request body.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

func recordedRequest(req *http.Request, body []byte, c cleaner) request {
	out := request{Method: req.Method, URL: c.cleanURL(req.URL), Headers: keepHeaders(req.Header)}
	out.Body, out.BodyEncoding = encodeBody(c.cleanBody(body))
	return out
}

func recordedResponse(resp *http.Response, body []byte, c cleaner) response {
	out := response{Status: resp.StatusCode, Headers: keepHeaders(resp.Header)}
	out.Body, out.BodyEncoding = encodeBody(c.cleanBody(body))
	return out
}

// reserve keeps a position, so that the cassette has the order of the requests.
func (r *Recorder) reserve(req request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tape.Interactions = append(r.tape.Interactions, interaction{Transport: "http", Request: req})
	r.ready = append(r.ready, false)
	return len(r.ready) - 1
}

// complete fills the position and writes the file.
func (r *Recorder) complete(index int, resp response, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size += size
	if r.size > maxCassette/2 { // bodies grow when they are encoded as JSON
		r.recordError(fmt.Errorf("%s: recording stopped at %d MiB", r.path, maxCassette>>21))
		return
	}
	r.tape.Interactions[index].Response = resp
	r.ready[index] = true
	r.recordError(r.save())
}

func (r *Recorder) recordError(err error) {
	if r.err == nil {
		r.err = err
	}
}

// save writes the completed exchanges. The caller holds mu, which also guards the file.
func (r *Recorder) save() error {
	done := cassette{Version: r.tape.Version, Metadata: r.tape.Metadata, Interactions: []interaction{}}
	for i, x := range r.tape.Interactions {
		if r.ready[i] {
			done.Interactions = append(done.Interactions, x)
		}
	}
	return save(r.path, &done)
}

// Close writes the cassette, even an empty one, and returns the first error.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = r.save()
	}
	return r.err
}

// tee collects what is read from body and passes it to end once: at the end, at an error, or when the reader closes.
type tee struct {
	body io.ReadCloser
	kept bytes.Buffer
	once sync.Once
	end  func([]byte)
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	t.kept.Write(p[:n])
	if err != nil {
		t.finish()
	}
	return n, err
}

func (t *tee) Close() error {
	t.finish()
	return t.body.Close()
}

func (t *tee) finish() { t.once.Do(func() { t.end(t.kept.Bytes()) }) }
