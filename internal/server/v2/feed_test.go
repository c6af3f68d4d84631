package v2_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// answers does something as soon as its stream says that it stands.
type answers struct {
	header http.Header
	buf    bytes.Buffer
	begun  sync.Once
	then   func()
}

func (w *answers) Header() http.Header { return w.header }
func (w *answers) WriteHeader(int)     {}
func (w *answers) Flush()              {}

func (w *answers) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("server.connected")) {
		w.begun.Do(w.then)
	}
	return w.buf.Write(p)
}

// A notice about a location goes to the streams of all locations and of its own.
func TestNoticeOfALocation(t *testing.T) {
	for query, want := range map[string]int{"": 2, "?location[directory]=/one": 1, "?location[directory]=/none": 0} {
		synctest.Test(t, func(t *testing.T) {
			store, ids := storetest.NewMemory(), &session.IDs{}
			log := eventlog.New(eventlog.Config{Store: store, IDs: ids})
			a := v2.New(v2.Config{Store: store, Log: log, IDs: ids, Directory: "/"})
			w := &answers{header: http.Header{}, then: func() {
				log.Notify(v2.NewServerNotice("/one", "notes"))
				log.Notify(v2.NewServerNotice("/two", "notes"))
			}}
			ctx, cancel := context.WithCancel(t.Context())
			var stream sync.WaitGroup
			stream.Go(func() {
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/event"+query, http.NoBody)
				follow(a.NewHandler(), w, r)
			})
			synctest.Wait()
			cancel()
			stream.Wait()
			if got := w.buf.String(); strings.Count(got, `"mcp.status.changed"`) != want ||
				strings.Contains(got, `{"server":"notes"}`) != (want > 0) {
				t.Errorf("%s: the feed said\n%s", query, got)
			}
		})
	}
}

// No notice is lost after the first frame of a stream.
func TestNoNoticeIsLostWhileTheFeedOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ids := storetest.NewMemory(), &session.IDs{}
		log := eventlog.New(eventlog.Config{Store: store, IDs: ids})
		a := v2.New(v2.Config{Store: store, Log: log, IDs: ids, Directory: "/"})
		w := &answers{header: http.Header{}, then: func() {
			log.Notify(eventlog.Notice{Kind: "server.noted", Data: jsontext.Value(`{}`)})
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var stream sync.WaitGroup
		stream.Go(func() {
			follow(a.NewHandler(), w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/event", http.NoBody))
		})
		synctest.Wait()
		cancel()
		stream.Wait()
		if got := w.buf.String(); strings.Count(got, "server.noted") != 1 {
			t.Errorf("the feed said\n%s", got)
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
