package sse_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	llmsse "github.com/cairn-dev/cairn/internal/llm/sse"
	"github.com/cairn-dev/cairn/internal/server/sse"
)

func TestAStreamBeginsAtOnceAndBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &locked{header: http.Header{}}
		_, s := sse.Open(t.Context(), w)
		if w.written() != ":ok\n\n" || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("began with %q, %v", w.written(), w.Header())
		}
		time.Sleep(sse.HeartbeatEvery + time.Second)
		synctest.Wait()
		if err := s.Send(sse.Frame{ID: "7", Data: []byte("x")}, false); err != nil {
			t.Error(err)
		}
		time.Sleep(sse.HeartbeatEvery - time.Second) // less than a beat since the frame
		synctest.Wait()
		if got := w.written(); got != ":ok\n\n: heartbeat\n\nid: 7\ndata: x\n\n" {
			t.Errorf("got %q", got)
		}
		s.Close()
		time.Sleep(5 * sse.HeartbeatEvery)
		synctest.Wait()
		if strings.Count(w.written(), "heartbeat") != 1 {
			t.Error("it beats after its end")
		}
		if err := s.Send(sse.Frame{Data: []byte("y")}, false); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("a closed stream says %v", err)
		}
	})
}

// locked is a connection that several goroutines look at.
type locked struct {
	header http.Header
	mu     sync.Mutex // guards buf
	buf    bytes.Buffer
}

func (l *locked) Header() http.Header { return l.header }
func (l *locked) WriteHeader(int)     {}
func (l *locked) Flush()              {}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) written() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestFramesReadAsTheyWereWritten(t *testing.T) {
	for _, f := range []sse.Frame{
		{Data: []byte(`{"a":1}`)},
		{ID: "12", Data: []byte("x")},
		{ID: "1", Event: "failure", Data: []byte("two\nlines")},
		{Data: []byte("a\r\nb\rc\n\nd")},
		{ID: "a\nb", Event: "c\rd", Data: []byte(" leading")},
		{Data: []byte("\n")},
	} {
		got := readBack(t, f)
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(f.Data))
		if string(got.Data) != want {
			t.Errorf("%q became %q", f.Data, got.Data)
		}
	}
}

func readBack(t testing.TB, f sse.Frame) llmsse.Frame {
	t.Helper()
	w := httptest.NewRecorder()
	_, s := sse.Open(t.Context(), w)
	if err := s.Send(f, true); err != nil {
		t.Fatal(err)
	}
	s.Close()
	n, out := 0, llmsse.Frame{}
	for got, err := range llmsse.ReadFrames(w.Body, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		out = llmsse.Frame{Event: got.Event, ID: got.ID, Data: bytes.Clone(got.Data)}
	}
	if n != 1 {
		t.Fatalf("%+v was read as %d frames", f, n)
	}
	return out
}

func FuzzFrame(f *testing.F) {
	f.Add("1", "", []byte("data"))
	f.Add("", "a\nb", []byte("\r\n\r\n"))
	f.Fuzz(func(t *testing.T, id, event string, data []byte) {
		if len(data) == 0 || bytes.IndexByte(data, 0) >= 0 {
			return
		}
		got := readBack(t, sse.Frame{ID: id, Event: event, Data: data})
		if want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)); string(got.Data) != want {
			t.Errorf("%q became %q", data, got.Data)
		}
	})
}

func TestAFrameHasALimit(t *testing.T) {
	w := httptest.NewRecorder()
	_, s := sse.Open(t.Context(), w)
	defer s.Close()
	if err := s.Send(sse.Frame{Data: make([]byte, sse.MaxFrame)}, false); !errors.Is(err, sse.ErrFrameTooLarge) {
		t.Errorf("got %v", err)
	}
	if w.Body.String() != ":ok\n\n" {
		t.Error("part of it was written")
	}
}

// deaf is a connection whose writes fail.
type deaf struct{ http.ResponseWriter }

func (deaf) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAFailedWriteEndsTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := sse.Open(t.Context(), deaf{httptest.NewRecorder()})
		defer s.Close()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), io.ErrClosedPipe) {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
		if err := s.Send(sse.Frame{Data: []byte("x")}, false); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	})
}

// stalled is a connection whose reader stops reading after the first write.
type stalled struct {
	*httptest.ResponseRecorder
	deadline time.Time
	writes   int
}

func (s *stalled) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *stalled) Write(p []byte) (int, error) {
	if s.writes++; s.writes == 1 {
		return s.ResponseRecorder.Write(p)
	}
	time.Sleep(time.Until(s.deadline))
	return 0, os.ErrDeadlineExceeded
}

func TestAStalledReaderIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := sse.Open(t.Context(), &stalled{ResponseRecorder: httptest.NewRecorder()})
		defer s.Close()
		begun := time.Now()
		if err := s.Send(sse.Frame{Data: []byte("x")}, false); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begun); took != sse.WriteTimeout || ctx.Err() == nil {
			t.Errorf("after %s, context %v", took, ctx.Err())
		}
	})
}

// counter counts how often it is written to.
type counter struct {
	*httptest.ResponseRecorder
	writes int
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes++
	return c.ResponseRecorder.Write(p)
}

func TestFramesOfAReplayShareWrites(t *testing.T) {
	w := &counter{ResponseRecorder: httptest.NewRecorder()}
	_, s := sse.Open(t.Context(), w)
	defer s.Close()
	for range 1000 {
		if err := s.Send(sse.Frame{Data: make([]byte, 100)}, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if w.writes > 10 {
		t.Errorf("%d writes", w.writes)
	}
	if n := strings.Count(w.Body.String(), "data: "); n != 1000 {
		t.Errorf("%d frames", n)
	}
}

func TestAStreamMayBeSharedByGoroutines(t *testing.T) {
	w := httptest.NewRecorder()
	_, s := sse.Open(t.Context(), w)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := s.Send(sse.Frame{Data: []byte("0123456789")}, false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.Close()
	n := 0
	for f, err := range llmsse.ReadFrames(w.Body, 0) {
		if err != nil || string(f.Data) != "0123456789" {
			t.Fatalf("%q %v", f.Data, err)
		}
		n++
	}
	if n != 800 {
		t.Errorf("%d frames", n)
	}
}

func BenchmarkSend(b *testing.B) {
	_, s := sse.Open(b.Context(), nothing{http.Header{}})
	defer s.Close()
	f := sse.Frame{ID: "123", Data: bytes.Repeat([]byte("x"), 300)}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Send(f, false); err != nil {
			b.Fatal(err)
		}
	}
}

type nothing struct{ h http.Header }

func (n nothing) Header() http.Header         { return n.h }
func (n nothing) Write(p []byte) (int, error) { return len(p), nil }
func (n nothing) WriteHeader(int)             {}
func (n nothing) Flush()                      {}
