package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxMessage = 16 << 20 // bytes of a message
	maxValues  = 2 << 20  // separators in a message, which bound the values that it is decoded to
	maxHeaders = 32       // lines before a message
	maxQueue   = 1 << 10  // messages that wait until the server reads them
	maxQueued  = 64 << 20 // their bytes
)

// A server that sends more than this is read more slowly, so that one that publishes for ever costs little.
const (
	messageRate  = 200     // a second
	messageBurst = 5000    // at once
	byteRate     = 8 << 20 // a second
	byteBurst    = 128 << 20
)

// endpoint is the other side of a connection: a program, or a fake one in tests.
type endpoint struct {
	in         io.WriteCloser
	out        io.ReadCloser
	done       <-chan struct{} // closed when the program has ended
	readErrors func() string   // the end of its standard error
	memory     func() int64    // bytes that it uses with what it started; nil: unknown
	close      func()          // ends it and waits
}

// stream is a jsonrpc2.ObjectStream of messages with LSP's headers. Messages are bounded in both directions, and a
// write never blocks. Notifications are not returned by ReadObject but passed to notify: there are many of them, and
// the library decodes a message four times.
type stream struct {
	in     io.WriteCloser
	out    io.ReadCloser
	reader *bufio.Reader
	notify func(method string, params jsontext.Value)
	rate   limiter

	queue  chan []byte
	queued atomic.Int64 // bytes in queue
	closed chan struct{}
	once   sync.Once
	writer sync.WaitGroup

	mu    sync.Mutex // guards cause
	cause error      // why the connection ended; nil if it was closed here
}

func newStream(e *endpoint, notify func(method string, params jsontext.Value)) *stream {
	s := &stream{
		in: e.in, out: e.out, reader: bufio.NewReaderSize(e.out, 64<<10), notify: notify,
		queue: make(chan []byte, maxQueue), closed: make(chan struct{}),
	}
	s.rate.last = time.Now()
	s.writer.Go(s.writeQueue)
	return s
}

// WriteObject queues a message.
func (s *stream) WriteObject(obj any) error {
	body, err := json.Marshal(obj, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	message := append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...)
	if s.queued.Add(int64(len(message))) <= maxQueued {
		select {
		case s.queue <- message:
			return nil
		case <-s.closed:
			return io.ErrClosedPipe
		default:
		}
	}
	return s.fail(errors.New("it does not read what it is sent"))
}

func (s *stream) writeQueue() {
	for {
		select {
		case message := <-s.queue:
			s.queued.Add(-int64(len(message)))
			if _, err := s.in.Write(message); err != nil {
				_ = s.fail(io.ErrClosedPipe) // it has ended, and its last words say more
				return
			}
		case <-s.closed:
			return
		}
	}
}

// ReadObject reads the next message that is not a notification.
func (s *stream) ReadObject(v any) error {
	for {
		body, err := s.readMessage()
		if err != nil {
			return s.fail(err)
		}
		var envelope struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params jsontext.Value `json:"params"`
		}
		if err := json.Unmarshal(body, &envelope, lenient()); err != nil {
			return s.fail(fmt.Errorf("it sent a message that is not JSON-RPC: %.200w", err))
		}
		if envelope.Method != "" && envelope.ID == nil {
			s.notify(envelope.Method, envelope.Params)
			continue
		}
		if err := json.Unmarshal(body, v, lenient()); err != nil {
			return s.fail(fmt.Errorf("it sent a message that is not JSON-RPC: %.200w", err))
		}
		return nil
	}
}

// lenient are the options to decode what servers send.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// readMessage reads the headers and the body of a message.
func (s *stream) readMessage() ([]byte, error) {
	// Headers.
	length := -1
	for i := 0; ; i++ {
		line, err := s.reader.ReadSlice('\n')
		if err != nil && (len(line) == 0 || errors.Is(err, io.EOF)) {
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" && length >= 0 {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok || i == maxHeaders || err != nil {
			return nil, fmt.Errorf("it wrote %.80q instead of a message", text)
		}
		if !strings.EqualFold(name, "Content-Length") {
			continue
		}
		value = strings.TrimSpace(value)
		if length, err = strconv.Atoi(value); err != nil || length < 1 || length > maxMessage {
			return nil, fmt.Errorf("it sent a message of %.20q bytes; the limit is %d", value, maxMessage)
		}
	}
	// The body, at a bounded rate and of a bounded number of values.
	s.rate.wait(length, s.closed)
	body := make([]byte, length)
	if _, err := io.ReadFull(s.reader, body); err != nil {
		return nil, err
	}
	n := 0
	for _, separator := range []string{",", "[", "{"} {
		n += bytes.Count(body, []byte(separator))
	}
	if n > maxValues {
		return nil, fmt.Errorf("it sent a message of %d values; the limit is %d", n, maxValues)
	}
	return body, nil
}

// fail closes the stream and returns the reason, which is the first one.
func (s *stream) fail(err error) error {
	s.mu.Lock()
	select {
	case <-s.closed:
	default:
		if s.cause == nil {
			s.cause = err
		}
	}
	err = s.cause
	s.mu.Unlock()
	_ = s.Close()
	if err == nil {
		err = io.EOF
	}
	return err
}

// readCause returns why the connection ended; nil if it was closed here or by the end of the program.
func (s *stream) readCause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.cause, io.EOF) || errors.Is(s.cause, io.ErrUnexpectedEOF) || errors.Is(s.cause, io.ErrClosedPipe) {
		return nil
	}
	return s.cause
}

// Close ends both directions.
func (s *stream) Close() error {
	s.once.Do(func() {
		close(s.closed)
		_ = s.in.Close()
		_ = s.out.Close()
	})
	return nil
}

// limiter is a token bucket of messages and bytes. It is used by one goroutine.
type limiter struct {
	messages float64 // used beyond what the rates allow
	bytes    float64
	last     time.Time
}

// wait counts a message and blocks while there are too many, or until the stream is closed.
func (l *limiter) wait(size int, closed <-chan struct{}) {
	now := time.Now()
	passed := now.Sub(l.last).Seconds()
	l.last = now
	l.messages = max(l.messages-passed*messageRate, 0) + 1
	l.bytes = max(l.bytes-passed*byteRate, 0) + float64(size)
	over := max((l.messages-messageBurst)/messageRate, (l.bytes-byteBurst)/byteRate)
	if over <= 0 {
		return
	}
	select {
	case <-time.After(time.Duration(over * float64(time.Second))):
	case <-closed:
	}
}
