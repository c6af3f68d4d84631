package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/llm/sse"
	"github.com/cairn-dev/cairn/internal/session"
)

// streaming returns a client of a server that streams what the function writes.
func streaming(f func(w http.ResponseWriter, r *http.Request)) *Client {
	return &Client{HTTP: &http.Client{Transport: Local(http.HandlerFunc(f))}}
}

const aFact = `{"id":"evt_1","type":"session.next.renamed","durable":{"aggregateID":"ses_1","seq":3,"version":1},"data":{"timestamp":1,"sessionID":"ses_1","title":"T"}}`

func TestFollowReadsEveryKindOfFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := streaming(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("after") != "2" || r.URL.Query().Get("live") != "1" ||
				r.URL.Path != "/api/session/ses_1/event" {
				t.Errorf("asked for %s", r.URL)
			}
			fmt.Fprint(w, ":ok\n\n: heartbeat\n\nid: 3\ndata: ", aFact, "\n\n")
			fmt.Fprint(
				w,
				`data: {"id":"evt_2","type":"session.next.text.delta","ephemeral":true,"data":{"timestamp":1,"sessionID":"ses_1","assistantMessageID":"msg_1","textID":"t","partID":"prt_1","offset":4,"delta":"hi"}}`,
				"\n\n",
			)
			fmt.Fprint(
				w,
				`data: {"id":"evt_3","type":"session.status","data":{"sessionID":"ses_1","status":{"type":"busy"}}}`,
				"\n\n",
			)
		})
		var kinds []string
		for u, err := range c.Follow(t.Context(), "ses_1", 2) {
			switch {
			case err != nil:
				if !errors.Is(err, ErrEnded) {
					t.Errorf("ended with %v", err)
				}
				kinds = append(kinds, "end")
			case u.Event != nil:
				kinds = append(kinds, fmt.Sprintf("%d %s", u.Event.Seq, u.Event.Data.Kind()))
			case u.Fragment != nil:
				kinds = append(kinds, fmt.Sprintf("%d %s", u.Fragment.Offset, u.Fragment.Delta))
			case u.Notice != nil:
				kinds = append(kinds, u.Notice.Kind+" "+string(u.Notice.SessionID))
			}
		}
		if got := strings.Join(kinds, ", "); got != "3 session.next.renamed, 4 hi, session.status ses_1, end" {
			t.Errorf("got %s", got)
		}
	})
}

// A stream that says nothing for a minute is broken: the server would have sent a heartbeat.
func TestSilenceEndsAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := streaming(func(w http.ResponseWriter, r *http.Request) {
			for range 10 {
				fmt.Fprint(w, ": heartbeat\n\n")
				time.Sleep(15 * time.Second)
			}
			<-r.Context().Done()
		})
		begun := time.Now()
		var last error
		for _, err := range c.Follow(t.Context(), "ses_1", -1) {
			last = err
		}
		if _, ok := errors.AsType[*TransportError](last); !ok || !strings.Contains(last.Error(), "no data arrived") {
			t.Errorf("got %v", last)
		}
		if took := time.Since(begun); took < 2*time.Minute || took > 4*time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

func TestAStreamSaysWhyItBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := streaming(func(w http.ResponseWriter, _ *http.Request) {
			_, body := EncodeError(session.Errorf(session.CodeUnavailable, "the data cannot be read"), ErrorContext{})
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", FailureEvent, body)
		})
		n := 0
		for _, err := range c.Tail(t.Context(), "ses_1", -1) {
			n++
			if !errors.Is(err, &session.Error{Code: session.CodeUnavailable}) {
				t.Errorf("got %v", err)
			}
		}
		if n != 1 {
			t.Errorf("%d updates", n)
		}
	})
}

func TestLeavingAStreamEndsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		c := streaming(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			fmt.Fprint(w, "data: ", aFact, "\n\n")
			<-r.Context().Done()
		})
		for _, err := range c.Tail(t.Context(), "ses_1", -1) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		<-ended
	})
}

func TestTheCallersEndIsTheCallersError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		enough := errors.New("enough")
		c := streaming(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: ", aFact, "\n\n")
			<-r.Context().Done()
		})
		var last error
		for _, err := range c.Tail(ctx, "ses_1", -1) {
			last = err
			cancel(enough)
		}
		if !errors.Is(last, enough) {
			t.Errorf("got %v", last)
		}
	})
}

// An event that was too large for a frame is fetched whole.
func TestAnElidedEventIsFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := streaming(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/history") {
				if q := r.URL.Query(); q.Get("after") != "2" || q.Get("limit") != "1" {
					t.Errorf("asked for %s", r.URL)
				}
				fmt.Fprintf(w, `{"data":[%s],"hasMore":false}`, aFact)
				return
			}
			fmt.Fprint(
				w,
				"data: ",
				strings.Replace(strings.Replace(aFact, `"T"`, `"…"`, 1), `"data"`, `"elided":true,"data"`, 1),
				"\n\n",
			)
		})
		for u, err := range c.Tail(t.Context(), "ses_1", -1) {
			if err != nil {
				t.Fatal(err)
			}
			if d := u.Event.Data.(*session.Renamed); d.Title != "T" {
				t.Errorf("got %+v", d)
			}
			break
		}
	})
}

func FuzzUpdate(f *testing.F) {
	f.Add("", []byte(aFact))
	f.Add("", []byte(`{"type":"session.next.text.delta","data":{"delta":"x"}}`))
	f.Add(FailureEvent, []byte(`{"_tag":"UnknownError","message":"x"}`))
	c := streaming(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	f.Fuzz(func(t *testing.T, event string, data []byte) {
		u, ok, err := c.update(t.Context(), sse.Frame{Event: event, Data: data})
		if err == nil && ok && u == (Update{}) {
			t.Error("an update of nothing")
		}
	})
}
