package sdk

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
)

// cutServer works on a prompt while its streams break, before they have an event, until the prompt is withdrawn.
type cutServer struct {
	streams int // that break, after hold
	hold    time.Duration
	dial    time.Duration // how long a refusal takes
	first   bool          // the first stream has an event
	refused int           // that are refused behind the first one, as if the server were gone; -1: all
	prompts int           // requests
}

func (s *cutServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/api/event":
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(path, "/event"):
		s.streams--
		if s.streams < 0 && s.refused != 0 {
			s.refused--
			select {
			case <-time.After(s.dial):
			case <-r.Context().Done():
			}
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if s.streams < 0 || s.first {
			seq := 2
			if s.first {
				seq, s.first = 1, false
			}
			fmt.Fprintf(w, "id: %d\ndata: {\"id\":\"evt_1\",\"type\":\"session.next.input.withdrawn\",\"durable\":{\"aggregateID\":\"ses_1\","+
				"\"seq\":%[1]d,\"version\":1},\"data\":{\"timestamp\":1,\"sessionID\":\"ses_1\",\"messageID\":\"msg_1\"}}\n\n", seq)
		}
		w.(http.Flusher).Flush()
		end := time.After(s.hold)
		if s.streams < 0 {
			end = nil
		}
		select {
		case <-end:
		case <-r.Context().Done():
		}
	case strings.HasSuffix(path, "/wait"):
		<-r.Context().Done()
	case strings.HasSuffix(path, "/prompt"):
		s.prompts++
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":{"id":"msg_1","sessionID":"ses_1","admittedSeq":1}}`)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":{"id":"ses_1"}}`)
	}
}

// session returns a session of the server.
func (s *cutServer) session(ctx context.Context) *Session {
	c := &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: api.Local(s)}}
	life, end := context.WithCancel(ctx)
	return &Session{client: &Client{api: c, life: life, end: end, close: func() {}}, id: "ses_1"}
}

// Connections that break while the session works end nothing, and send nothing again.
func TestRunOverBrokenStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cutServer{streams: 20, hold: 2 * time.Second}
		_, err := s.session(t.Context()).Do(t.Context(), Prompt{Text: "one", ID: "msg_1"})
		if err == nil || err.Error() != "the prompt was withdrawn" || s.prompts != 1 {
			t.Errorf("%v after %d requests with the prompt", err, s.prompts)
		}
	})
}

// A stream that is not restored within a minute ends Events, and so does one that is accepted each time and breaks at once,
// also while the server answers other requests.
func TestEventsWithoutStreams(t *testing.T) {
	for name, s := range map[string]*cutServer{
		"refused": {streams: 1, refused: -1}, "accepted": {streams: 1 << 20}, "never accepted": {refused: -1, dial: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var err error
			for _, err = range s.session(t.Context()).Events(t.Context(), -1) {
				if err == nil {
					t.Error("an event")
				}
			}
			if !hasCode(err, CodeUnreachable) || time.Since(began) < time.Minute || time.Since(began) > 90*time.Second {
				t.Errorf("%s: %v after %s", name, err, time.Since(began))
			}
		})
	}
}

// A connection that breaks, and is restored, while the program is at work on an event ends nothing.
func TestEventsOfBusyProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cutServer{streams: 1, first: true, hold: time.Second}
		events := 0
		for _, err := range s.session(t.Context()).Events(t.Context(), -1) {
			if err != nil {
				t.Fatal(err)
			}
			if events++; events == 2 {
				return
			}
			time.Sleep(2 * time.Minute)
		}
	})
}
