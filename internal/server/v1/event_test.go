package v1_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
)

// line is one frame of a stream as it was sent.
type line struct {
	id   string
	data map[string]any
}

// frames reads a stream until enough says so.
func frames(t *testing.T, w *world, path, last string, enough func(line) bool) (out []line) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var f line
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			f.id = id
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &f.data); err != nil {
				t.Fatal(err, data)
			}
			holdFrame(t, path, data)
			if out = append(out, f); enough(f) {
				return out
			}
			f = line{}
		}
	}
	t.Fatalf("the stream ended behind %v", out)
	return nil
}

func isKind(kind string) func(line) bool {
	return func(f line) bool { return f.data["type"] == kind }
}

// answering is a provider that says the same to all.
func answering(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		say(w, map[string]any{"content": "Hello."}, nil)
		say(w, map[string]any{}, "stop")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// A reader that reconnects with the id of its last frame gets every later recorded event once, in the same order; the
// first frame shows that the stream is open.
func TestStreamResumes(t *testing.T) {
	w := newWorldOf(t, answering(t), "", nil)
	var all []line
	var reader sync.WaitGroup
	started := make(chan struct{})
	reader.Go(func() {
		all = frames(t, w, "/event", "", func(f line) bool {
			if f.data["type"] == "server.connected" {
				close(started)
			}
			return f.data["type"] == "session.idle"
		})
	})
	<-started
	s := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"a"}`).body).(map[string]any)["id"].(string)
	if a := w.ask(t, http.MethodPost, "/session/"+s+"/message",
		`{"parts":[{"type":"text","text":"hi"}]}`); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	reader.Wait()
	if all[0].data["type"] != "server.connected" || all[0].id == "" {
		t.Errorf("the stream begins with %v", all[0])
	}
	kept := func(ls []line) (ids []string) {
		for _, f := range ls {
			if f.id != "" && f.data["type"] != "server.connected" {
				ids = append(ids, f.id)
			}
		}
		return ids
	}
	ids := kept(all)
	if len(ids) < 5 {
		t.Fatalf("%d frames have ids: %v", len(ids), all)
	}
	again := frames(t, w, "/event", ids[0], func(f line) bool { return f.id == ids[len(ids)-1] })
	if got := kept(again); strings.Join(got, " ") != strings.Join(ids[1:], " ") {
		t.Errorf("behind %s came %v, want %v", ids[0], got, ids[1:])
	}
	last := func(ls []line) (text string) {
		for _, f := range ls {
			if part, ok := f.data["properties"].(map[string]any)["part"].(map[string]any); ok &&
				part["type"] == "text" {
				text = part["messageID"].(string) + part["text"].(string)
			}
		}
		return text
	}
	if last(again) != last(all) || last(all) == "" {
		t.Errorf("the text is %q, was %q", last(again), last(all))
	}
	first := frames(t, w, "/event", "99999999", func(line) bool { return true }) // of a store that is no more
	if n, err := strconv.Atoi(first[0].id); err != nil || n >= 99999999 {
		t.Errorf("behind all begins with %v", first[0])
	}
	// An EventSource repeats an id that it has from another server for ever, and gives up after an error.
	for _, foreign := range []string{"x", "-2", "evt_1"} {
		now := frames(t, w, "/event", foreign, func(line) bool { return true })
		if now[0].id != first[0].id {
			t.Errorf("behind %s: begins with %v, want %v", foreign, now[0], first[0])
		}
	}
}

// A response comes after everything before it was written to the open streams: "run --attach" exits with what it has
// read.
func TestStreamsAreToldFirst(t *testing.T) {
	w := newWorldOf(t, answering(t), "", nil)
	s := read(t, w.ask(t, http.MethodPost, "/session", `{"title":"a"}`).body).(map[string]any)["id"].(string)
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/event", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var idle atomic.Bool
		var reader sync.WaitGroup
		stands := make(chan struct{})
		reader.Go(func() { // byte by byte: what it has not taken was not handed to it
			var line []byte
			for p := make([]byte, 1); ; {
				if _, err := resp.Body.Read(p); err != nil {
					return
				}
				if line = append(line, p[0]); p[0] != '\n' && !bytes.HasSuffix(line, []byte(`"type":"session.idle"`)) {
					continue
				}
				if bytes.Contains(line, []byte("server.connected")) {
					close(stands)
				}
				if bytes.Contains(line, []byte("session.idle")) {
					idle.Store(true)
				}
				line = line[:0]
			}
		})
		<-stands
		if a := w.ask(t, http.MethodPost, "/session/"+s+"/message",
			`{"parts":[{"type":"text","text":"hi"}]}`); a.status != http.StatusOK ||
			!idle.Load() {
			t.Errorf("answered %d, the stream had said that the session rests: %t", a.status, idle.Load())
		}
		cancel()
		reader.Wait()
		_ = resp.Body.Close()
	}
}

// A cursor of one directory's stream is good for another's, and shows nothing but that: there is one order for all.
func TestACursorOpensNoOtherDirectory(t *testing.T) {
	w := newWorldOf(t, answering(t), "", map[string]string{"sub/a": "x"})
	w.ask(t, http.MethodPost, "/session?directory="+w.work+"/sub", `{"title":"there"}`)
	there := frames(t, w, "/event?directory="+w.work+"/sub", "0", isKind("session.created"))
	last := there[len(there)-1].id
	w.ask(t, http.MethodPost, "/session?directory="+w.work+"/sub", `{"title":"hidden"}`)
	w.ask(t, http.MethodPost, "/session", `{"title":"here"}`)
	for _, f := range frames(t, w, "/event", last, isKind("session.created")) {
		if text := fmt.Sprint(f.data); strings.Contains(text, "there") || strings.Contains(text, "hidden") {
			t.Error(text)
		}
	}
}

// A stream is about its directory; the global one names the directory of each event, and repeats what is kept as it is
// synced.
func TestStreamsAreScoped(t *testing.T) {
	w := newWorldOf(t, answering(t), "", map[string]string{"sub/a": "x"})
	create := func(title, directory string) session.ID {
		a := w.ask(t, http.MethodPost, "/session?directory="+directory, `{"title":"`+title+`"}`)
		id, _ := read(t, a.body).(map[string]any)["id"].(string)
		return session.ID(id)
	}
	create("before", w.work)
	there, here := create("there", w.work+"/sub"), create("here", w.work)
	got := frames(t, w, "/event", "0", isKind("session.created")) // the first is of "before"
	if len(got) != 2 {
		t.Fatal(got)
	}
	n := 0
	got = frames(t, w, "/event", "0", func(f line) bool {
		if f.data["type"] == "session.created" {
			n++
		}
		return n == 2
	})
	if id := got[len(got)-1].data["properties"].(map[string]any)["sessionID"]; id != string(here) {
		t.Errorf("got events of %v, want %s and nothing of %s", id, here, there)
	}
	synced := frames(t, w, "/global/event", "0", func(f line) bool {
		p := f.data["payload"].(map[string]any)
		e, _ := p["syncEvent"].(map[string]any)
		return p["type"] == "sync" && e["aggregateID"] == string(there)
	})
	last := synced[len(synced)-1].data
	e := last["payload"].(map[string]any)["syncEvent"].(map[string]any)
	if last["directory"] != w.work+"/sub" || e["type"] != "session.created.1" || e["seq"] != 0.0 ||
		last["project"] == nil {
		t.Errorf("synced as %v", last)
	}
}
