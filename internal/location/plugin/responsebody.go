package plugin

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// responses are the answers of auth/fetch whose bodies are not complete. The zero value is ready to use.
type responses struct {
	last atomic.Int64

	mu   sync.Mutex // guards open
	open map[int64]*responseBody
}

// add returns the number of a new answer and its body.
func (a *responses) add() (int64, *responseBody) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.last.Add(1)
	c := &responseBody{}
	c.changed.L = &c.mu
	if a.open == nil {
		a.open = map[int64]*responseBody{}
	}
	a.open[n] = c
	return n, c
}

// write adds a piece to a body; one that has ended takes none. One that is not read ends, at the provider too.
func (a *responses) write(stream int64, data []byte) {
	a.mu.Lock()
	c := a.open[stream]
	a.mu.Unlock()
	if c != nil && !c.write(data) {
		a.end(stream, fmt.Errorf("more than %d bytes of the answer were not read", maxContent))
		c.cancel(stream)
	}
}

// errUnread ends the body of an answer that its reader has closed.
var errUnread = errors.New("the answer is not read any more")

// end ends a body; nil is its regular end. It reports whether the body was open.
func (a *responses) end(stream int64, err error) bool {
	a.mu.Lock()
	c := a.open[stream]
	delete(a.open, stream)
	a.mu.Unlock()
	if c != nil {
		c.finish(err)
	}
	return c != nil
}

// endAll ends the bodies of a program that has ended.
func (a *responses) endAll(p *peer, err error) {
	a.mu.Lock()
	open := maps.Clone(a.open)
	a.mu.Unlock()
	for stream, c := range open {
		if c.isOf(p) {
			a.end(stream, err)
		}
	}
}

// responseBody is the body of an answer. Its writer never waits, so it holds what is not read, up to maxContent.
type responseBody struct {
	onClose func()

	mu      sync.Mutex // guards the rest
	source  *peer      // the program that sends it; nil before the request is sent
	changed sync.Cond
	unread  bytes.Buffer
	isEnded bool
	err     error // after unread; nil is the end
}

// maxContent bounds what is not read of a body, in bytes.
const maxContent = 32 << 20

func (c *responseBody) write(data []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unread.Len()+len(data) > maxContent {
		return false
	}
	c.unread.Write(data)
	c.changed.Broadcast()
	return true
}

func (c *responseBody) setSource(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.source = p
}

// cancel tells the program to stop sending.
func (c *responseBody) cancel(stream int64) {
	c.mu.Lock()
	source := c.source
	c.mu.Unlock()
	if source != nil {
		_ = source.notify("response/cancel", object{"stream": stream}) // it has ended
	}
}

func (c *responseBody) isOf(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.source == p
}

func (c *responseBody) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isEnded {
		c.isEnded, c.err = true, err
	}
	c.changed.Broadcast()
}

// Read implements io.Reader.
func (c *responseBody) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.unread.Len() == 0 && !c.isEnded {
		c.changed.Wait()
	}
	if c.unread.Len() > 0 {
		return c.unread.Read(b)
	}
	if c.err != nil {
		return 0, c.err
	}
	return 0, io.EOF
}

// Close implements io.Closer.
func (c *responseBody) Close() error {
	c.onClose()
	return nil
}

// takeChunk takes a piece of an answer, or its end.
func (s *Set) takeChunk(method string, params jsontext.Value) {
	var p struct {
		Stream int64  `json:"stream"`
		Data   string `json:"data"`
		Error  string `json:"error"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	switch {
	case method == "response/chunk" && err == nil:
		s.responses.write(p.Stream, data)
	case p.Error != "":
		s.responses.end(p.Stream, errors.New(p.Error))
	default:
		s.responses.end(p.Stream, err)
	}
}
