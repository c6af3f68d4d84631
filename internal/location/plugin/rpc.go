package plugin

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

// maxMessage bounds a message of the program in bytes; a request with all messages of a long session fits.
const maxMessage = 64 << 20

// message is a request, a notification or an answer of JSON-RPC 2.0.
type message struct {
	Version string         `json:"jsonrpc"`
	ID      int64          `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *remoteError   `json:"error,omitzero"`
}

// remoteError is a failure of a plugin.
type remoteError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Stack   string `json:"data,omitzero"`
}

func (e *remoteError) Error() string { return e.Message }

// errEnded is the error of calls when the program has ended.
var errEnded = errors.New("the program of the plugins has ended")

// peer is the connection with the program. Safe for concurrent use.
type peer struct {
	in   io.Writer
	word string // begins each line of the program
	// handle answers a request, in a goroutine of its own; notify takes a notification and does not wait.
	handle func(ctx context.Context, method string, params jsontext.Value) (any, error)
	notify func(method string, params jsontext.Value)
	print  func(line string) // a line that is not of the program
	done   chan struct{}     // closed when the messages have ended

	mu      sync.Mutex // guards the rest
	last    int64
	waiting map[int64]chan message
	queue   [][]byte      // messages that are not written
	queued  int           // bytes of these
	more    chan struct{} // capacity 1: the queue has grown
	ended   bool
}

func newPeer(in io.Writer, word string) *peer {
	return &peer{
		in: in, word: word, waiting: map[int64]chan message{}, done: make(chan struct{}), more: make(chan struct{}, 1),
	}
}

// read reads the messages of the program until they end. Its requests are answered concurrently, maxRequests at once;
// ctx ends them.
func (p *peer) read(ctx context.Context, out io.Reader) {
	ctx, cancel := context.WithCancel(ctx)
	var requests sync.WaitGroup
	defer requests.Wait()
	defer cancel()
	slots := make(chan struct{}, maxRequests)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		text, ok := cutWord(lines.Bytes(), p.word)
		var m message
		if !ok || json.Unmarshal(text, &m) != nil {
			p.print(lines.Text())
			continue
		}
		switch {
		case m.Method == "":
			p.mu.Lock()
			c := p.waiting[m.ID]
			delete(p.waiting, m.ID)
			p.mu.Unlock()
			if c != nil {
				c <- m
			}
		case m.ID == 0:
			p.notify(m.Method, m.Params)
		default:
			select {
			case slots <- struct{}{}:
				requests.Go(func() {
					defer func() { <-slots }()
					p.answer(ctx, m)
				})
			default:
				_ = p.send(message{ID: m.ID, Error: &remoteError{Code: -32000, Message: "too many requests at once"}})
			}
		}
	}
	p.end()
}

// maxRequests bounds the requests of the program that are answered at once.
const maxRequests = 64

func cutWord(line []byte, word string) ([]byte, bool) {
	if len(line) <= len(word) || string(line[:len(word)]) != word || line[len(word)] != ' ' {
		return nil, false
	}
	return line[len(word)+1:], true
}

// answer answers a request.
func (p *peer) answer(ctx context.Context, m message) {
	result, err := p.handle(ctx, m.Method, m.Params)
	reply := message{ID: m.ID, Result: jsontext.Value("null")}
	if raw, encodeErr := json.Marshal(result); err == nil && encodeErr == nil {
		reply.Result = raw
	} else {
		reply.Result, reply.Error = nil, &remoteError{Code: -32000, Message: errors.Join(err, encodeErr).Error()}
	}
	_ = p.send(reply) // the program has ended
}

// maxQueued bounds the messages that a program does not read, in bytes.
const maxQueued = 2 * maxMessage

// send queues a message. It never waits for the program, which may not read.
func (p *peer) send(m message) error {
	m.Version = "2.0"
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return errEnded
	case p.queued+len(raw) > maxQueued:
		return fmt.Errorf("the program of the plugins does not read: more than %d bytes wait for it", maxQueued)
	}
	p.queue, p.queued = append(p.queue, append(raw, '\n')), p.queued+len(raw)+1
	select {
	case p.more <- struct{}{}:
	default:
	}
	return nil
}

// write writes the queued messages until the messages of the program end, or its pipe does.
func (p *peer) write() {
	for {
		p.mu.Lock()
		var next []byte
		if len(p.queue) > 0 {
			next, p.queue = p.queue[0], p.queue[1:]
		}
		p.mu.Unlock()
		if next == nil {
			select {
			case <-p.more:
				continue
			case <-p.done:
				return
			}
		}
		if _, err := p.in.Write(next); err != nil {
			return
		}
		p.mu.Lock()
		p.queued -= len(next)
		p.mu.Unlock()
	}
}

// tell sends a notification.
func (p *peer) tell(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return p.send(message{Method: method, Params: raw})
}

// call sends a request and reads the result into out. When ctx ends, the program is told to stop the work, and its
// answer does not count. number, if not nil, gets the peer and the id of the request before it is sent.
func (p *peer) call(ctx context.Context, method string, params, out any, number func(*peer, int64)) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	reply := make(chan message, 1)
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return errEnded
	}
	p.last++
	id := p.last
	p.waiting[id] = reply
	p.mu.Unlock()
	if number != nil {
		number(p, id)
	}
	if err := p.send(message{ID: id, Method: method, Params: raw}); err != nil {
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
		return err
	}
	select {
	case m, ok := <-reply:
		switch {
		case !ok:
			return errEnded
		case m.Error != nil:
			return m.Error
		case out == nil:
			return nil
		}
		if err := json.Unmarshal(m.Result, out); err != nil {
			return fmt.Errorf("its answer has another form: %w", err)
		}
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
		_ = p.tell("cancel", map[string]int64{"id": id})
		return context.Cause(ctx)
	}
}

// end ends the calls that wait.
func (p *peer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended, p.queue = true, nil
	close(p.done) // before those who wait go on: their next call needs another program
	for _, c := range p.waiting {
		close(c)
	}
	clear(p.waiting)
}
