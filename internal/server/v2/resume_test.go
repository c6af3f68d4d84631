package v2_test

import (
	"bufio"
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// heard is one frame of a stream: its id, what it tells, and the id of the event if it is a durable one.
type heard struct{ id, kind, durable string }

// listen reads the stream behind the id until a frame after which enough is true, or it ends.
func (w *world) listen(ctx context.Context, t *testing.T, path, lastID string, enough func(heard) bool) (all []heard) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := w.client.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var h heard
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			h.id = value
		case "event":
			h.kind = value
		case "data":
			var d struct {
				ID      string         `json:"id"`
				Type    string         `json:"type"`
				Durable jsontext.Value `json:"durable"`
			}
			if err := json.Unmarshal([]byte(value), &d); err != nil {
				t.Fatal(err)
			}
			h.kind = cmp.Or(h.kind, d.Type)
			if d.Durable != nil {
				h.durable = d.ID
			}
			if all = append(all, h); enough(h) {
				return all
			}
			h = heard{}
		}
	}
	return all
}

// Every frame has an id, and who resumes with the id of any of them hears all durable events after it, from the next
// one on.
func TestEveryFrameCanBeResumedFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{Turns: []script.Turn{{Steps: []script.Step{
			{Text: script.Chunks{"One "}, Open: true}, {Gate: "g1"}, {Text: script.Chunks{"two ", "three"}},
		}}}})
		defer w.close(t)
		s, err := w.client.Create(t.Context(), api.CreateSession{})
		if err != nil {
			t.Fatal(err)
		}
		paths := []string{
			"/api/session/" + string(s.ID) + "/event?live=1",
			"/api/session/" + string(s.ID) + "/event",
			"/api/event",
			"/api/event?all=1",
		}
		ended := func(h heard) bool { return h.kind == "session.next.step.ended" }
		first := make([]chan []heard, len(paths))
		for i, path := range paths {
			first[i] = make(chan []heard, 1)
			go func() { first[i] <- w.listen(t.Context(), t, path, "", ended) }()
		}
		synctest.Wait()
		p := api.PromptRequest{Prompt: &session.Prompt{Text: "count"}}
		if _, err := w.client.Prompt(t.Context(), s.ID, p); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(w.player.Gates["g1"])
		if err := w.client.Wait(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]bool{}
		for i, path := range paths {
			all := <-first[i]
			for j, h := range all {
				kinds[h.kind] = true
				if h.id == "" {
					t.Errorf("%s: %s has no id", path, h.kind)
					continue
				}
				if j == len(all)-1 {
					break
				}
				got := durables(w.listen(t.Context(), t, path, h.id, ended))
				if want := durables(all[j+1:]); got != want {
					t.Errorf("%s: after %s %s came\n%s, wanted\n%s", path, h.kind, h.id, got, want)
				}
			}
		}
		for _, kind := range []string{
			"server.connected", "session.status", "session.next.text.delta",
			"session.next.text.started",
		} {
			if !kinds[kind] {
				t.Errorf("no %s was tried", kind)
			}
		}
	})
}

func durables(hs []heard) string {
	var ids []string
	for _, h := range hs {
		if h.durable != "" {
			ids = append(ids, h.durable)
		}
	}
	return strings.Join(ids, " ")
}

// The last frame of a stream that breaks off has an id too: that of its position, also if the event there is not shown
// to any reader.
func TestTheLastFrameHasAnID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("ok"))
		defer w.close(t)
		id := w.begin(t, "hi")
		done := make(chan []heard, 1)
		go func() {
			done <- w.listen(t.Context(), t, "/api/session/"+string(id)+"/event", "", func(heard) bool { return false })
		}()
		synctest.Wait()
		if err := w.client.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		all := <-done
		place := func(h heard) int {
			n, err := strconv.Atoi(h.id)
			if err != nil {
				t.Error(err)
			}
			return n
		}
		if n := len(all); n < 2 || all[n-1].kind != api.FailureEvent || place(all[n-1]) < place(all[n-2]) {
			t.Errorf("got %v", all)
		}
	})
}

// A wait is bounded, and when the work has failed the stream of all sessions has why, once.
func TestFailureOfASessionAndBoundOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{Turns: []script.Turn{
			{Steps: []script.Step{{Text: script.Chunks{"x"}}, {Gate: "g1"}}},
			{Steps: []script.Step{{Text: script.Chunks{"y"}}}},
		}})
		defer w.close(t)
		ctx, cancel := context.WithCancel(t.Context())
		feed := make(chan []heard, 1)
		go func() { feed <- w.listen(ctx, t, "/api/event", "", func(heard) bool { return false }) }()
		synctest.Wait()
		id := w.begin(t, "hang")
		synctest.Wait()
		wait := "http://localhost/api/session/" + string(id) + "/wait?timeout=5"
		resp, err := w.client.HTTP.Post(wait, "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a wait that is over: %s", resp.Status)
		}
		waited := make(chan error, 1)
		go func() { waited <- w.client.Wait(t.Context(), id) }()
		time.Sleep(time.Hour) // of the bubble: the client waits on
		if err := w.client.Interrupt(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if err := <-waited; err != nil {
			t.Error(err)
		}
		p := api.PromptRequest{Prompt: &session.Prompt{Text: "again"}}
		if _, err := w.client.Prompt(t.Context(), id, p); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		var got []string
		for _, h := range <-feed {
			if strings.HasSuffix(h.kind, "failed") || strings.HasPrefix(h.kind, "session.error") {
				got = append(got, h.kind)
			}
		}
		// The first attempt is silent for too long and is repeated: only the end of the second one is an error.
		want := "session.next.step.failed session.next.step.failed session.error"
		if strings.Join(got, " ") != want {
			t.Errorf("the feed has %v", got)
		}
	})
}
