// Package sse writes server-sent events.
//
// A stream begins with a comment, so that the client knows that it is open. It sends ": heartbeat", or a frame of the
// writer, whenever it was quiet for HeartbeatEvery. Every write has WriteTimeout; a write that fails or times out ends
// the context of the stream, and later writes are dropped. A stalled reader therefore costs one connection and its
// buffers, and no more of the writer's time.
//
// A Stream belongs to one handler, which closes it before it returns.
package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The times and sizes of a stream.
const (
	HeartbeatEvery = 10 * time.Second
	WriteTimeout   = 10 * time.Second

	// MaxFrame bounds the bytes of one frame: generated clients fail at 1 MiB of incomplete text.
	MaxFrame = 900 << 10

	flushAt = 32 << 10
)

// ErrFrameTooLarge says that a frame exceeds MaxFrame. Send has written nothing.
var ErrFrameTooLarge = fmt.Errorf("a server-sent event may have %d bytes", MaxFrame)

// Frame is one event. ID and Event are optional; Data is one line or several.
type Frame struct {
	ID    string
	Event string
	Data  []byte
}

// Stream is an open answer of type text/event-stream. Safe for concurrent use.
type Stream struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	cancel context.CancelCauseFunc

	mu     sync.Mutex // guards the rest, and is held while writing: frames do not mix
	buf    []byte
	err    error
	closed bool
	beat   *time.Timer
	beats  func() Frame // nil: a comment
}

// Open writes the header and the first comment. The returned context ends when the client has disconnected or does
// not read for WriteTimeout, or with ctx.
func Open(ctx context.Context, w http.ResponseWriter) (context.Context, *Stream) {
	ctx, s := OpenQuiet(ctx, w)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(s.buf, ":ok\n\n"...)
	s.flush()
	return ctx, s
}

// OpenQuiet is Open without the comment, for writers that send a frame at once.
func OpenQuiet(ctx context.Context, w http.ResponseWriter) (context.Context, *Stream) {
	ctx, cancel := context.WithCancelCause(ctx)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	s := &Stream{w: w, rc: http.NewResponseController(w), cancel: cancel}
	w.WriteHeader(http.StatusOK)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = time.AfterFunc(HeartbeatEvery, s.sendHeartbeat)
	return ctx, s
}

// Send adds a frame. Unless more says that another frame follows at once, it sends everything that was added.
func (s *Stream) Send(f Frame, more bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if frameSize(f) > MaxFrame {
		return ErrFrameTooLarge
	}
	if len(f.Data) >= flushAt && bytes.IndexByte(f.Data, '\n') < 0 && bytes.IndexByte(f.Data, '\r') < 0 {
		s.buf = append(appendFields(s.buf, f), "data: "...)
		s.write(s.buf, f.Data, []byte("\n\n"))
		return s.err
	}
	s.buf = appendFrame(s.buf, f)
	if !more || len(s.buf) >= flushAt {
		s.flush()
	}
	return s.err
}

// Flush sends everything that was added.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	return s.err
}

// Close sends what was added and ends the stream. Later calls do nothing.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.flush()
	_ = s.rc.SetWriteDeadline(time.Now().Add(WriteTimeout)) // for the final chunk of net/http
	s.closed = true
	if s.err == nil {
		s.err = http.ErrServerClosed
	}
	s.beat.Stop()
	s.cancel(nil)
}

// BreakConnection sends what was added and aborts the connection: clients see a failure and reconnect, whereas an
// orderly end tells them that nothing follows. It panics with http.ErrAbortHandler, so only deferred calls run after
// it.
func (s *Stream) BreakConnection() {
	s.Close()
	panic(http.ErrAbortHandler)
}

// SetHeartbeat sends frames as heartbeats, for clients that ignore comments.
func (s *Stream) SetHeartbeat(frame func() Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beats = frame
}

func (s *Stream) sendHeartbeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.err != nil {
		return
	}
	if s.beats == nil {
		s.buf = append(s.buf, ": heartbeat\n\n"...)
	} else {
		s.buf = appendFrame(s.buf, s.beats())
	}
	s.flush()
}

// flush writes the buffer. mu is held.
func (s *Stream) flush() {
	if len(s.buf) > 0 {
		s.write(s.buf)
	}
}

// write sends the pieces, the first of which is the buffer, and empties the buffer. A large frame is a piece of its
// own, so that a stalled reader holds no copy of it. mu is held.
func (s *Stream) write(pieces ...[]byte) {
	if s.err != nil || s.closed {
		return
	}
	err := s.rc.SetWriteDeadline(time.Now().Add(WriteTimeout))
	if errors.Is(err, http.ErrNotSupported) { // a call in this process has no deadline
		err = nil
	}
	for _, p := range pieces {
		if err == nil {
			_, err = s.w.Write(p)
		}
	}
	if err == nil {
		err = s.rc.Flush()
	}
	s.buf = s.buf[:0]
	if cap(s.buf) > 2*flushAt {
		s.buf = nil // release the memory of a burst
	}
	if err != nil {
		s.err = fmt.Errorf("write the stream: %w", err)
		s.cancel(s.err)
		s.beat.Stop()
		return
	}
	s.beat.Reset(HeartbeatEvery)
}

func frameSize(f Frame) int {
	return len(f.ID) + len(f.Event) + len(f.Data) + 32
}

func appendFrame(b []byte, f Frame) []byte {
	b = append(appendFields(b, f), "data: "...)
	for i, c := range f.Data {
		switch {
		case c == '\n':
			b = append(b, "\ndata: "...)
		case c == '\r' && i+1 < len(f.Data) && f.Data[i+1] == '\n': // \r\n is one line end
		case c == '\r':
			b = append(b, "\ndata: "...)
		default:
			b = append(b, c)
		}
	}
	return append(b, "\n\n"...)
}

func appendFields(b []byte, f Frame) []byte {
	if f.Event != "" {
		b = append(append(append(b, "event: "...), oneLine(f.Event)...), '\n')
	}
	if f.ID != "" {
		b = append(append(append(b, "id: "...), oneLine(f.ID)...), '\n')
	}
	return b
}

// oneLine replaces characters that would end a field.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n\x00") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(s)
}
