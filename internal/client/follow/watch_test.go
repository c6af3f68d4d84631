package follow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// server answers for the session ses_1, whose events are renames. What it does at each request is in plan.
type server struct {
	mu      sync.Mutex          // guards gone, began and streams
	newest  int64               // seq
	streams []func(w io.Writer) // what the requests for a stream get; the last stream stays open
	gone    int                 // so many requests fail once the first stream began
	began   bool                // the first stream began
	idle    chan struct{}       // closed when the session is idle
	missing bool                // the session was deleted
	feed    func(w io.Writer)   // what the stream of all sessions has

	taskFailure *session.Error // why the session of a task cannot be followed
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fail := func(e *session.Error) {
		status, body := api.EncodeError(e, api.ErrorContext{})
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/session/ses_1")
	s.mu.Lock()
	fails := s.gone > 0 && (path != "/event" || s.began)
	if fails {
		s.gone--
	}
	s.began = s.began || path == "/event"
	s.mu.Unlock()
	switch {
	case fails:
		panic(http.ErrAbortHandler)
	case s.missing:
		fail(session.NotFound("session", "ses_1"))
	case path == "/api/session/ses_task/event":
		fail(s.taskFailure)
	case path == "/event":
		w.Header().Set("Content-Type", "text/event-stream")
		s.mu.Lock()
		write := s.streams[0]
		s.streams = s.streams[1:]
		isLast := len(s.streams) == 0
		s.mu.Unlock()
		write(w)
		flush(w)
		if isLast {
			<-r.Context().Done()
		}
	case path == "/api/event":
		w.Header().Set("Content-Type", "text/event-stream")
		s.feed(w)
		flush(w)
		<-r.Context().Done()
	case path == "/wait":
		select {
		case <-s.idle:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	case strings.HasPrefix(path, "/api/session/ses_task/") && !strings.HasSuffix(path, "/history"):
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[],"cursor":{}}`)
	case strings.HasSuffix(path, "/history"):
		e := session.Errorf(session.CodeConflict, "beyond the end")
		e.Kind, e.ID = api.KindCursor, strconv.FormatInt(s.newest, 10)
		fail(e)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":{"id":"ses_1"}}`)
	}
}

// refuse fails as if the server were gone.
func refuse(io.Writer) { panic(http.ErrAbortHandler) }

// renamed writes the frame of an event.
func renamed(w io.Writer, seqs ...int) {
	for _, seq := range seqs {
		fmt.Fprintf(w, "id: %d\ndata: {\"id\":\"evt_%d\",\"type\":\"session.next.renamed\",\"durable\":{\"aggregateID\":\"ses_1\","+
			"\"seq\":%d,\"version\":1},\"data\":{\"timestamp\":1,\"sessionID\":\"ses_1\",\"title\":\"T\"}}\n\n", seq, seq, seq)
	}
}

// watch returns what a watch reports of the session until it says the last word, or nothing for an hour.
func watch(t *testing.T, s *server, o follow.Options, expectIdle bool, last string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of the bubble's clock
	defer cancel()
	c := &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: api.Local(s)}}
	w := follow.Start(ctx, c, "ses_1", o)
	defer w.Stop()
	if expectIdle {
		w.ExpectIdle()
	}
	var seen []string
	for u := range w.C {
		switch {
		case u.Event != nil:
			seen = append(seen, strconv.FormatInt(u.Event.Seq, 10))
		case u.Idle:
			seen = append(seen, "idle")
		case u.Output != nil:
			seen = append(seen, "output of "+string(u.Output.SessionID))
		case u.Note != nil:
			seen = append(seen, "note of "+string(u.Note.SessionID))
		case u.Lost != nil:
			seen = append(seen, "lost")
		case u.Found:
			seen = append(seen, "found")
		case errors.Is(u.End, &session.Error{Code: session.CodeNotFound}):
			seen = append(seen, "deleted")
		case u.End != nil:
			seen = append(seen, "end: "+u.End.Error())
		}
		if len(seen) > 0 && seen[len(seen)-1] == last {
			break
		}
	}
	return strings.Join(seen, " ")
}

// TestWatch: each event is reported once and in order, over as many streams as it takes, and the session is idle only
// when all its events were reported.
func TestWatch(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for name, tt := range map[string]struct {
		server *server
		last   string
		want   string
	}{
		"idle after its last event": {
			&server{newest: 3, streams: []func(io.Writer){func(w io.Writer) {
				renamed(w, 1)
				flush(w)
				time.Sleep(time.Minute / 2) // the session is idle long before its last events arrive
				renamed(w, 2, 3)
			}}, idle: closed}, "idle", "1 2 3 idle",
		},
		"two streams that overlap": {
			&server{newest: 4, streams: []func(io.Writer){
				func(w io.Writer) { renamed(w, 1, 2) },
				func(w io.Writer) { renamed(w, 2, 3, 4) },
			}, idle: closed}, "idle", "1 2 lost found 3 4 idle",
		},
		"a server that is gone for a while": {
			&server{newest: 2, gone: 7, streams: []func(io.Writer){
				func(w io.Writer) { renamed(w, 1) },
				func(w io.Writer) { renamed(w, 2) },
			}, idle: closed}, "idle", "1 lost found 2 idle",
		},
		"a stream that cannot be restored": {
			&server{newest: 2, streams: []func(io.Writer){
				func(w io.Writer) { renamed(w, 1) },
				refuse, refuse, refuse,
				func(w io.Writer) { renamed(w, 2) },
			}, idle: closed}, "2", "1 lost found 2",
		},
		"deleted": {&server{missing: true, idle: closed}, "deleted", "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := watch(t, tt.server, follow.Options{After: 0}, true, tt.last); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestWatchOfRefusedTask: a subagent whose session cannot be followed ends the watch, as what it asks is not seen. One whose
// session does not exist yet is waited for, and an id that a model made up is that of no session.
func TestWatchOfRefusedTask(t *testing.T) {
	jobs := []session.Job{{ID: "job_1", Status: session.JobRunning, Task: &session.TaskJob{SessionID: "ses_task"}}}
	for want, failure := range map[string]*session.Error{
		"end: follow the subagent in session ses_task: not allowed": session.Errorf(session.CodeDenied, "not allowed"),
		"idle": session.NotFound("session", "ses_task"), "idle ": session.Errorf(session.CodeInvalid, "no id"),
	} {
		want = strings.TrimSpace(want)
		synctest.Test(t, func(t *testing.T) {
			idle := make(chan struct{})
			end := time.AfterFunc(time.Minute/2, func() { close(idle) }) // the stream has no heartbeats, and ends after a minute
			defer end.Stop()
			s := &server{newest: 0, streams: []func(io.Writer){func(io.Writer) {}}, idle: idle, taskFailure: failure}
			if got := watch(t, s, follow.Options{Tasks: true, Jobs: jobs}, true, want); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestWatchOfUnavailableTask: a subagent whose stream is not accepted for a minute, although the server answers, ends the watch.
func TestWatchOfUnavailableTask(t *testing.T) {
	jobs := []session.Job{{ID: "job_1", Status: session.JobRunning, Task: &session.TaskJob{SessionID: "ses_task"}}}
	for _, code := range []session.Code{session.CodeUnavailable, session.CodeTooMany} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{newest: 0, idle: make(chan struct{}), taskFailure: session.Errorf(code, "try later")}
			s.streams = []func(io.Writer){func(w io.Writer) {
				for range 20 { // heartbeats
					flush(w)
					fmt.Fprint(w, ": \n\n")
					time.Sleep(10 * time.Second)
				}
			}}
			const want = "end: follow the subagent in session ses_task: try later"
			began := time.Now()
			got := watch(t, s, follow.Options{Tasks: true, Jobs: jobs}, false, want)
			if took := time.Since(began); got != want || took < time.Minute || took > 2*time.Minute {
				t.Errorf("%s: got %q after %s, want %q", code, got, took, want)
			}
			time.Sleep(5 * time.Minute) // until the server has ended its stream
		})
	}
}

// TestContinue: a call that continues work may last as long as the work; the session is idle once it has returned, and an error
// is reported.
func TestContinue(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for _, failure := range []error{nil, errors.New("no")} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{newest: 0, streams: []func(io.Writer){func(io.Writer) {}}, idle: closed}
			c := &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: api.Local(s)}}
			w := follow.Start(t.Context(), c, "ses_1", follow.Options{After: 0})
			defer w.Stop()
			w.ExpectIdle()
			began := time.Now()
			w.Continue("msg_1", func(context.Context) error {
				time.Sleep(time.Minute / 2)
				return failure
			})
			u := <-w.C
			if failure != nil {
				if u.Failed == nil || u.Failed.Prompt != "msg_1" || !errors.Is(u.Failed.Err, failure) {
					t.Errorf("got %+v", u)
				}
				u = <-w.C
			}
			if !u.Idle || time.Since(began) < time.Minute/2 {
				t.Errorf("got %+v after %s", u, time.Since(began))
			}
		})
	}
}

// TestWatchOutput: the feed has the output and the notes of all sessions; a watch reports those of its session and of
// the session of a task that runs.
func TestWatchOutput(t *testing.T) {
	for name, tt := range map[string]struct {
		jobs []session.Job
		want string
	}{
		"a session": {nil, "output of ses_1 note of ses_1"},
		"a task": {
			[]session.Job{{ID: "job_1", Status: session.JobRunning, Task: &session.TaskJob{SessionID: "ses_task"}}},
			"output of ses_task note of ses_task output of ses_1 note of ses_1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{newest: 0, streams: []func(io.Writer){func(io.Writer) {}}, idle: make(chan struct{})}
				s.feed = func(w io.Writer) {
					for _, id := range []string{"ses_other", "ses_task", "", "ses_1"} {
						fmt.Fprintf(w, "data: {\"id\":\"evt_1\",\"type\":\"session.next.tool.progress\",\"data\":{\"timestamp\":1,"+
							"\"sessionID\":%q,\"assistantMessageID\":\"msg_1\",\"callID\":\"c\",\"structured\":{},\"content\":[]}}\n\n", id)
						fmt.Fprintf(w, "data: {\"id\":\"evt_2\",\"type\":\"session.note\",\"data\":{\"sessionID\":%q,"+
							"\"source\":\"hook\",\"text\":\"t\"}}\n\n", id)
					}
				}
				o := follow.Options{Tasks: true, Jobs: tt.jobs, Notes: true, Output: true}
				if got := watch(t, s, o, false, "note of ses_1"); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				close(s.idle)
			})
		})
	}
}

func flush(w io.Writer) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
