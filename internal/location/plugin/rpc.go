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
	// handle answers a request; notify takes a notification. Both are called by a goroutine of their own each.
	handle func(ctx context.Context, method string, params jsontext.Value) (any, error)
	notify func(method string, params jsontext.Value)
	print  func(line string) // a line that is not of the program
	done   chan struct{}     // closed when the messages have ended

	writing sync.Mutex // held while a message is written

	mu      sync.Mutex // guards the rest
	last    int64
	waiting map[int64]chan message
	ended   bool
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

// send writes a message.
func (p *peer) send(m message) error {
	m.Version = "2.0"
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err = p.in.Write(append(raw, '\n'))
	return err
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
// answer does not count. number, if not nil, gets the id of the request before it is sent.
func (p *peer) call(ctx context.Context, method string, params, out any, number func(int64)) error {
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
		number(id)
	}
	if err := p.send(message{ID: id, Method: method, Params: raw}); err != nil {
		return errors.Join(errEnded, err)
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
	p.ended = true
	for _, c := range p.waiting {
		close(c)
	}
	clear(p.waiting)
	close(p.done)
}
