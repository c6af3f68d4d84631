package v1_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/server/sse"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// nowhere is a backend without checkouts.
type nowhere struct{ v1.Backend }

func (nowhere) Head(string) string { return "" }

// taken is the client's side of a stream.
type taken struct {
	header http.Header
	mu     sync.Mutex // guards buf
	buf    bytes.Buffer
}

func (w *taken) Header() http.Header { return w.header }
func (w *taken) WriteHeader(int)     {}
func (w *taken) Flush()              {}

func (w *taken) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

// A stream on which nothing happens says so every ten seconds, as an event: OpenCode's clients take no comment for a
// sign of life. None of them bears an id but the first, with which a reader that hears no more resumes.
func TestHeartbeatsAreEvents(t *testing.T) {
	for path, frame := range map[string]string{
		"/event":        `data: {"id":"evt_\w+","type":"%","properties":{}}`,
		"/global/event": `data: {"payload":{"id":"evt_\w+","type":"%","properties":{}}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			store, ids := storetest.NewMemory(), &session.IDs{}
			a := v1.New(
				v1.Config{
					Store:     store,
					Log:       eventlog.New(eventlog.Config{Store: store, IDs: ids}),
					IDs:       ids,
					Backend:   nowhere{},
					Directory: "/work",
				},
			)
			ctx, cancel := context.WithCancel(t.Context())
			w := &taken{header: http.Header{}}
			var stream sync.WaitGroup
			stream.Go(func() {
				follow(a.NewHandler(), w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody))
			})
			time.Sleep(3*sse.HeartbeatEvery + time.Second)
			cancel()
			stream.Wait()
			want := "id: 0\n"
			for _, kind := range []string{"connected", "heartbeat", "heartbeat", "heartbeat"} {
				want += regexp.MustCompile(`%`).ReplaceAllString(frame, "server."+kind) + "\n\n"
			}
			if got := w.buf.String(); !regexp.MustCompile(`^` + want + `$`).MatchString(got) {
				t.Errorf("%s said\n%s\nwant %s", path, got, want)
			}
		})
	}
}

// answers does something as soon as the header of its answer leaves, when a client in this process goes on.
type answers struct {
	taken
	begun sync.Once
	then  func()
}

func (w *answers) WriteHeader(int) { w.begun.Do(w.then) }

// What clients tell each other is lost to no stream whose answer has begun.
func TestNothingIsLostWhileAStreamOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ids := storetest.NewMemory(), &session.IDs{}
		log := eventlog.New(eventlog.Config{Store: store, IDs: ids})
		a := v1.New(v1.Config{Store: store, Log: log, IDs: ids, Backend: nowhere{}, Directory: "/"})
		ctx, cancel := context.WithCancel(t.Context())
		w := &answers{taken: taken{header: http.Header{}}, then: func() {
			a.NewHandler().
				ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost,
					"/global/dispose", http.NoBody))
		}}
		var stream sync.WaitGroup
		stream.Go(func() {
			follow(a.NewHandler(), w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/global/event", http.NoBody))
		})
		synctest.Wait()
		cancel()
		stream.Wait()
		if got := w.buf.String(); !regexp.MustCompile(`(?s)server\.connected.*global\.disposed`).MatchString(got) {
			t.Errorf("the stream said\n%s", got)
		}
	})
}

// follow calls the handler as net/http does, which takes an answer that is broken off.
func follow(h http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		p := recover()
		if err, ok := p.(error); p != nil && !(ok && errors.Is(err, http.ErrAbortHandler)) {
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
}
