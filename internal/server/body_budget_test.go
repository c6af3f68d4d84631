package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/server"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// inProcess is the operations of a server that listens nowhere.
func inProcess(t *testing.T, c server.Config) http.Handler {
	t.Helper()
	store, ids := storetest.NewMemory(), &session.IDs{}
	log := eventlog.New(eventlog.Config{Store: store, IDs: ids})
	e := engine.New(engine.Config{Store: store, Log: log, IDs: ids, Locations: nowhere{}})
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	c.V1 = v1.New(
		v1.Config{Commands: e.Commands, Asks: e.Asks, Runs: e, Store: store, Log: log, IDs: ids, Directory: "/work"},
	)
	c.V2 = v2.New(
		v2.Config{
			Commands:  e.Commands,
			Inbox:     e.Commands,
			Reverts:   e.Commands,
			Asks:      e.Asks,
			Runs:      e,
			Jobs:      e.Jobs,
			Store:     store,
			Log:       log,
			IDs:       ids,
			Locations: nowhere{},
			Directory: "/work",
		},
	)
	c.Secret, c.Socket = secret, "unused"
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s.NewLocalHandler()
}

// sending is the body of a client that sends the text and then nothing, until it may go on to the end.
type sending struct {
	text  io.Reader
	taken *atomic.Int64
	more  <-chan struct{}
	end   io.Reader
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.text.Read(p)
	if s.taken.Add(int64(n)); err != io.EOF || n > 0 {
		return n, nil
	}
	<-s.more
	return s.end.Read(p)
}

const (
	limitOfOne = 1 << 20
	beginning  = `{"service":"s","level":"info","message":"`
)

// post sends a log entry of half of what one may send, and holds its last bytes back until more is closed.
func post(h http.Handler, taken *atomic.Int64, more <-chan struct{}, known bool) *httptest.ResponseRecorder {
	text := beginning + strings.Repeat("x", limitOfOne/2)
	r := httptest.NewRequest(
		http.MethodPost,
		"/log",
		&sending{strings.NewReader(text), taken, more, strings.NewReader(`"}`)},
	)
	r.Header.Set("Content-Type", "application/json")
	if r.ContentLength = -1; known {
		r.ContentLength = int64(len(text) + 2)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// However many clients send large bodies at once, the server reads no more than its budget; clients that wait too
// long are asked to retry.
func TestBodiesShareABudget(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := inProcess(t, server.Config{BodyLimit: limitOfOne})
			const clients = 64
			var taken atomic.Int64
			var all sync.WaitGroup
			var got [clients]*httptest.ResponseRecorder
			more := make(chan struct{})
			for i := range clients {
				all.Go(func() { got[i] = post(h, &taken, more, known) })
			}
			synctest.Wait()
			if most := int64(3*limitOfOne + clients*64<<10); taken.Load() > most {
				t.Errorf("length known %t: %d MiB are held of bodies, want at most %d", known, taken.Load()>>20, most>>20)
			}
			close(more)
			all.Wait()
			for _, w := range got {
				if w.Code != http.StatusOK {
					t.Fatalf("length known %t: %d %s", known, w.Code, w.Body)
				}
			}
			more, stalled := make(chan struct{}), atomic.Int64{}
			var those sync.WaitGroup
			for range 2 * 3 { // as many as there is room for
				those.Go(func() { post(h, &stalled, more, true) })
			}
			synctest.Wait()
			w := post(h, &taken, nil, known)
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" ||
				!strings.Contains(w.Body.String(), "try again") {
				t.Errorf("length known %t: a request that waits in vain got %d %v %s", known, w.Code, w.Header(), w.Body)
			}
			small := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/log", strings.NewReader(beginning+`"}`))
			r.Header.Set("Content-Type", "application/json")
			if h.ServeHTTP(small, r); small.Code != http.StatusOK {
				t.Errorf("a small body waits for large ones: %d %s", small.Code, small.Body)
			}
			close(more)
			those.Wait()
		})
	}
}

// A request that waits for work releases the bytes of its body.
func TestWaitingHoldsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := inProcess(t, server.Config{BodyLimit: limitOfOne})
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range 20 {
			r := httptest.NewRequestWithContext(
				ctx,
				http.MethodGet,
				"/tui/control/next",
				strings.NewReader(strings.Repeat("x", limitOfOne)),
			)
			waiting.Go(func() { h.ServeHTTP(httptest.NewRecorder(), r) })
		}
		synctest.Wait()
		more := make(chan struct{})
		close(more)
		var taken atomic.Int64
		if w := post(h, &taken, more, true); w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		cancel()
		waiting.Wait()
	})
}
