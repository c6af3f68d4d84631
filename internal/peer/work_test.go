package peer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/peer"
)

// seen writes down what it is shown.
type seen struct{ log []string }

func (s *seen) Part(p peer.Shown)       { s.log = append(s.log, p.Type+" "+p.ID+" "+p.Text) }
func (s *seen) Failed(e jsontext.Value) { s.log = append(s.log, "failed "+string(e)) }
func (s *seen) Asked(a peer.Ask) string { s.log = append(s.log, "asked "+a.Permission); return "once" }

// server plays what OpenCode's did when it was recorded: the frames, once the prompt has come.
type server struct {
	frames   []string
	answer   int           // status of the prompt
	delay    time.Duration // until it is answered
	prompted chan struct{}
	replies  []string
}

func (s *server) client() *peer.Client {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /event", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n")
		<-s.prompted
		for _, f := range s.frames {
			fmt.Fprintf(w, "data: %s\n\n", f)
		}
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /session/{id}/message", func(w http.ResponseWriter, r *http.Request) {
		close(s.prompted)
		select {
		case <-time.After(s.delay):
		case <-r.Context().Done():
			return
		}
		w.WriteHeader(s.answer)
		fmt.Fprint(w, `{"name":"BadRequest","data":{"message":"there is no such model"}}`)
	})
	mux.HandleFunc("POST /permission/{id}/reply", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.replies = append(s.replies, r.PathValue("id")+string(b))
		fmt.Fprint(w, "true")
	})
	return &peer.Client{HTTP: &http.Client{Transport: api.Local(mux)}, Base: "http://peer"}
}

func part(id, kind, more string) string {
	return fmt.Sprintf(`{"type":"message.part.updated","properties":{"part":{"id":%q,"sessionID":"ses_1","messageID":"msg_1","type":%q%s}}}`, id, kind, more)
}

func status(of, kind string) string {
	return fmt.Sprintf(`{"type":"session.status","properties":{"sessionID":%q,"status":{"type":%q}}}`, of, kind)
}

// Each part is shown once, when it is whole; others' sessions are not shown; the work is done when the session rests and
// the prompt is answered, whichever is first.
func TestWork(t *testing.T) {
	frames := []string{
		status("ses_1", "idle"), // of before
		status("ses_1", "busy"),
		part("prt_u", "text", `,"text":"mine"`),
		part("prt_1", "step-start", ""),
		part("prt_2", "text", `,"text":"He"`),
		part("prt_2", "text", `,"text":"Hello","time":{"start":1,"end":2}`),
		part("prt_2", "text", `,"text":"Hello","time":{"start":1,"end":2}`),
		part("prt_3", "tool", `,"tool":"bash","state":{"status":"running"}`),
		`{"type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["ls"]}}`,
		`{"type":"permission.asked","properties":{"id":"per_2","sessionID":"ses_2","permission":"edit","patterns":["x"]}}`,
		part("prt_3", "tool", `,"tool":"bash","state":{"status":"completed"}`),
		part("prt_4", "of-the-future", ""),
		`{"type":"session.error","properties":{"sessionID":"ses_2","error":{"name":"Theirs"}}}`,
		`{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"Ours"}}}`,
		`no JSON`,
		status("ses_2", "idle"),
		part("prt_5", "step-finish", ""),
		status("ses_1", "idle"),
	}
	want := []string{"step-start prt_1 ", "text prt_2 Hello", "asked bash", "tool prt_3 ", `failed {"name":"Ours"}`, "step-finish prt_5 "}
	for _, delay := range []time.Duration{0, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{frames: frames, answer: 200, delay: delay, prompted: make(chan struct{})}
			w := &seen{}
			if err := s.client().Work(t.Context(), "ses_1", peer.Prompt{}, w); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, w.log); diff != "" {
				t.Errorf("answered after %s: -want +got\n%s", delay, diff)
			}
			if len(s.replies) != 1 || !strings.HasPrefix(s.replies[0], `per_1{"reply":"once"}`) {
				t.Errorf("replies: %v", s.replies)
			}
		})
	}
}

func TestWorkIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: 400, prompted: make(chan struct{})}
		err := s.client().Work(t.Context(), "ses_1", peer.Prompt{}, &seen{})
		if e, ok := errors.AsType[*peer.Error](err); !ok || e.Status != 400 || e.Message != "there is no such model" {
			t.Errorf("%v", err)
		}
	})
}

func TestWorkIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("too long"))
		defer cancel()
		s := &server{answer: 200, delay: time.Hour, frames: []string{status("ses_1", "busy")}, prompted: make(chan struct{})}
		if err := s.client().Work(ctx, "ses_1", peer.Prompt{}, &seen{}); err == nil || err.Error() != "too long" {
			t.Errorf("%v", err)
		}
	})
}
