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
var errEnded = errors.New("the plugin host has ended")

// peer is the connection with the program. Safe for concurrent use.
type peer struct {
	in     io.Writer
	prefix string // begins each line of the plugin host
	// handle takes a request and returns what answers it, in a goroutine of its own; handleNotification takes a
	// notification. Both are called in the order of the messages, and do not wait.
	handle             func(method string, params jsontext.Value) answerFunc
	handleNotification func(method string, params jsontext.Value)
	print              func(line string) // a line that is not of the plugin host
	done               chan struct{}     // closed when the messages have ended

	mu      sync.Mutex // guards the rest
	last    int64
	waiting map[int64]chan message
	queue   [][]byte      // messages that are not written
	queued  int           // bytes of these
	more    chan struct{} // capacity 1: the queue has grown
	ended   error         // why there are no more messages; nil if there may be
}

// answerFunc answers a request; ctx ends with the messages.
type answerFunc func(ctx context.Context) (any, error)

func newPeer(in io.Writer, prefix string) *peer {
	return &peer{
		in: in, prefix: prefix, waiting: map[int64]chan message{}, done: make(chan struct{}), more: make(chan struct{}, 1),
	}
}

// read reads the messages of the plugin host until they end, which is an error if its output has not. Its requests are
// answered concurrently, maxRequests at once; ctx ends them.
func (p *peer) read(ctx context.Context, out io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	var requests sync.WaitGroup
	defer requests.Wait()
	defer cancel()
	slots := make(chan struct{}, maxRequests)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		text, ok := cutPrefix(lines.Bytes(), p.prefix)
		var m message
		if !ok || json.Unmarshal(text, &m) != nil {
			p.print(lines.Text())
			continue
		}
		switch {
		case m.Method == "": // an answer
			p.mu.Lock()
			c := p.waiting[m.ID]
			delete(p.waiting, m.ID)
			p.mu.Unlock()
			if c != nil {
				c <- m
			}
		case m.ID == 0:
			p.handleNotification(m.Method, m.Params)
		default: // a request
			select {
			case slots <- struct{}{}:
				answer := p.handle(m.Method, m.Params)
				requests.Go(func() {
					defer func() { <-slots }()
					p.sendAnswer(ctx, m.ID, answer)
				})
			default:
				_ = p.send(message{ID: m.ID, Error: &remoteError{Code: -32000, Message: "too many requests at once"}})
			}
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("a message has more than %d bytes", maxMessage)
	}
	p.end(err)
	return err
}

// maxRequests bounds the requests of the program that are answered at once.
const maxRequests = 64

func cutPrefix(line []byte, prefix string) ([]byte, bool) {
	if len(line) <= len(prefix) || string(line[:len(prefix)]) != prefix || line[len(prefix)] != ' ' {
		return nil, false
	}
	return line[len(prefix)+1:], true
}

// sendAnswer answers a request.
func (p *peer) sendAnswer(ctx context.Context, id int64, answer answerFunc) {
	result, err := answer(ctx)
	reply := message{ID: id, Result: jsontext.Value("null")}
	if raw, encodeErr := json.Marshal(result); err == nil && encodeErr == nil {
		reply.Result = raw
	} else {
		reply.Result, reply.Error = nil, &remoteError{Code: -32000, Message: errors.Join(err, encodeErr).Error()}
	}
	_ = p.send(reply) // the plugin host has ended
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
	case p.ended != nil:
		return p.ended
	case p.queued+len(raw) > maxQueued:
		return fmt.Errorf("the plugin host does not read: more than %d bytes wait for it", maxQueued)
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

// notify sends a notification.
func (p *peer) notify(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return p.send(message{Method: method, Params: raw})
}

// call sends a request and reads the result into out. When ctx ends, the plugin host is told to stop the work, and its
// answer does not count. number, if not nil, gets the peer and the id of the request before it is sent.
func (p *peer) call(ctx context.Context, method string, params, out any, number func(*peer, int64)) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	// Expect an answer before the request is sent.
	reply := make(chan message, 1)
	p.mu.Lock()
	if p.ended != nil {
		p.mu.Unlock()
		return p.ended
	}
	p.last++
	id := p.last
	p.waiting[id] = reply
	p.mu.Unlock()
	if number != nil {
		number(p, id)
	}
	if err := p.send(message{ID: id, Method: method, Params: raw}); err != nil {
		p.forget(id)
		return err
	}
	// Wait for it.
	select {
	case m, ok := <-reply:
		switch {
		case !ok:
			return p.ended
		case m.Error != nil:
			return m.Error
		case out == nil:
			return nil
		}
		if err := json.Unmarshal(m.Result, out); err != nil {
			return fmt.Errorf("the result has another form than that of OpenCode's plugins: %w", err)
		}
		return nil
	case <-ctx.Done():
		p.forget(id)
		_ = p.notify("cancel", map[string]int64{"id": id})
		return context.Cause(ctx)
	}
}

// forget drops the answer to a request.
func (p *peer) forget(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}

// end ends the calls that wait. why is nil if the output has ended.
func (p *peer) end(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended, p.queue = errEnded, nil
	if why != nil {
		p.ended = fmt.Errorf("%w: %w", errEnded, why)
	}
	close(p.done) // before those who wait go on: their next call needs another program
	for _, c := range p.waiting {
		close(c)
	}
	clear(p.waiting)
}
