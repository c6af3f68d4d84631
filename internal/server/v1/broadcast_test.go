package v1_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
)

// listener is one reader of a stream, all of which it keeps.
type listener struct {
	stop func()
	body io.ReadCloser
	got  []heard
	err  error
}

// heard is a frame: its id, and its data as it came.
type heard struct {
	id, data string
	v        struct {
		ID         string `json:"id"`
		Type       string `json:"type"`
		Properties struct {
			Delta string `json:"delta"`
			Part  struct {
				Text string `json:"text"`
				Type string `json:"type"`
			} `json:"part"`
			Info struct {
				Role string `json:"role"`
			} `json:"info"`
		} `json:"properties"`
	}
}

// listen opens a stream; its first frame has come when it returns.
func (w *world) listen(t testing.TB, path string) *listener {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = resp.Body.Close() })
	return &listener{stop: stop, body: resp.Body}
}

// until reads to the first frame that is enough.
func (l *listener) until(enough func(heard) bool) {
	lines := bufio.NewScanner(l.body)
	lines.Buffer(nil, 4<<20)
	var f heard
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			f.id = id
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		f.data = data
		if l.err = json.Unmarshal([]byte(data), &f.v); l.err != nil {
			return
		}
		if f.v.Type != "server.heartbeat" {
			l.got = append(l.got, f)
		}
		if enough(f) {
			return
		}
		f = heard{}
	}
	l.err = fmt.Errorf("the stream ended behind %d frames: %v", len(l.got), lines.Err())
}

// kept returns the frames of recorded updates, which are the same for all readers: those of one update, the last of
// which has an id.
func (l *listener) kept() (out []string) {
	for _, f := range l.got {
		if f.v.Type != "server.connected" && f.v.Type != "message.part.delta" {
			out = append(out, f.id+" "+f.data)
		}
	}
	return out
}

// text joins the deltas.
func (l *listener) text() (s string) {
	for _, f := range l.got {
		s += f.v.Properties.Delta
	}
	return s
}

// chunked is a provider that sends the next part of its answer after each value on goOn.
func chunked(t *testing.T, chunks ...string) (url string, goOn chan<- struct{}) {
	t.Helper()
	next := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), `"tools":[`) { // a title
			say(w, map[string]any{"content": "Title"}, nil)
			say(w, map[string]any{}, "stop")
			return
		}
		for _, c := range chunks {
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
			say(w, map[string]any{"content": c}, nil)
		}
		say(w, map[string]any{}, "stop")
	}))
	t.Cleanup(srv.Close)
	return srv.URL, next
}

// Readers that join before, during and after an answer get the same durable frames byte for byte, and the whole
// text.
func TestReadersAreToldTheSame(t *testing.T) {
	chunks := make([]string, 30)
	for i := range chunks {
		chunks[i] = fmt.Sprint("word ", i, " ")
	}
	url, goOn := chunked(t, chunks...)
	w := newWorldOf(t, url, "", nil)
	s := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"a"}`).body).(map[string]any)["id"].(string)
	var reading sync.WaitGroup
	var all []*listener
	join := func(n int) {
		for range n {
			l := w.listen(t, "/event")
			all = append(all, l)
			reading.Go(func() { l.until(func(f heard) bool { return f.v.Type == "session.idle" }) })
		}
	}
	join(8)
	if a := w.ask(t, http.MethodPost, "/session/"+s+"/prompt_async",
		`{"parts":[{"type":"text","text":"hi"}]}`); a.status != http.StatusNoContent {
		t.Fatal(a.body)
	}
	for i := range chunks {
		goOn <- struct{}{}
		if i == 10 || i == 20 {
			join(8)
		}
	}
	reading.Wait()
	first := all[0].kept()
	for i, l := range all {
		if l.err != nil {
			t.Fatal(l.err)
		}
		kept := l.kept()
		if len(kept) == 0 || len(kept) > len(first) ||
			strings.Join(kept, "\n") != strings.Join(first[len(first)-len(kept):], "\n") {
			t.Errorf("reader %d got\n%s\nwant the end of\n%s", i, strings.Join(kept, "\n"), strings.Join(first, "\n"))
		}
		if got, want := l.text(), strings.Join(chunks, ""); got != want {
			t.Errorf("reader %d got %q, want %q", i, got, want)
		}
	}
}

// A stalled reader delays no other reader. When it reads again it gets all durable events in order, also those that
// are no longer cached.
func TestAReaderThatStallsCatchesUp(t *testing.T) {
	w := newWorld(t, "", nil)
	stalled, fast := w.listen(t, "/event"), w.listen(t, "/event")
	const sessions, changes = 10, 120
	var reading sync.WaitGroup
	changed := 0
	enough := func(f heard) bool {
		if f.v.Type == "session.updated" {
			changed++
		}
		return changed == sessions*changes
	}
	reading.Go(func() { fast.until(enough) })
	for range sessions {
		s := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"a"}`).body).(map[string]any)["id"].(string)
		for i := range changes {
			if a := w.ask(t, http.MethodPatch, "/session/"+s, fmt.Sprintf(`{"title":"%d"}`, i)); a.status != http.StatusOK {
				t.Fatal(a.body)
			}
		}
	}
	reading.Wait()
	changed = 0
	stalled.until(enough)
	if fast.err != nil || stalled.err != nil {
		t.Fatal(fast.err, stalled.err)
	}
	ids := func(l *listener) (out []string) {
		for _, f := range l.got[1:] {
			out = append(out, f.v.Type+" "+f.id)
		}
		return out
	}
	if got, want := strings.Join(ids(stalled), "\n"), strings.Join(ids(fast), "\n"); got != want {
		t.Errorf("the stalled reader got\n%.2000s\nwant\n%.2000s", got, want)
	}
}

// An answer that is too large for a frame does not end the stream.
func TestALargeAnswerEndsNoStream(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 70_000) // more than sse.MaxFrame
	url, goOn := chunked(t, text)
	w := newWorldOf(t, url, "", nil)
	s := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"a"}`).body).(map[string]any)["id"].(string)
	l := w.listen(t, "/event")
	var reading sync.WaitGroup
	reading.Go(func() { l.until(func(f heard) bool { return f.v.Type == "session.idle" }) })
	if a := w.ask(t, http.MethodPost, "/session/"+s+"/prompt_async",
		`{"parts":[{"type":"text","text":"hi"}]}`); a.status != http.StatusNoContent {
		t.Fatal(a.body)
	}
	goOn <- struct{}{}
	reading.Wait()
	if l.err != nil || l.text() != text {
		t.Errorf("%v, %d bytes of text, want %d", l.err, len(l.text()), len(text))
	}
}
