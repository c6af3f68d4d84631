//go:build unix

package crashtest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// ear is a reader of one of V1's streams.
type ear struct {
	t      *testing.T
	body   io.ReadCloser
	lines  *bufio.Reader
	ids    []int64 // of the frames of what is kept, as they came
	idle   int     // how often a session came to rest
	prompt []string
	output string // of the newest running command
}

// listen opens the stream, behind the frame with the id if it is not 0, and returns when it stands.
func (c *child) listen(t *testing.T, path string, behind int64) *ear {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if behind > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatInt(behind, 10))
	}
	resp, err := c.client.HTTP.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	e := &ear{t: t, body: resp.Body, lines: bufio.NewReader(resp.Body)}
	for {
		if kind, _ := e.frame(); kind == "server.connected" {
			e.ids = nil // its id is where the reader stands
			return e
		}
	}
}

// frame reads the next one and notes it.
func (e *ear) frame() (kind string, id int64) {
	e.t.Helper()
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			e.t.Fatalf("the stream ended behind %v: %v", e.ids, err)
		}
		if s, ok := strings.CutPrefix(line, "id: "); ok {
			if id, err = strconv.ParseInt(strings.TrimSpace(s), 10, 64); err != nil {
				e.t.Fatal(err)
			}
			e.ids = append(e.ids, id)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return e.note(data), id
		}
	}
}

func (e *ear) note(data string) (kind string) {
	type said struct {
		Type       string `json:"type"`
		Properties struct {
			Part struct {
				Text  string `json:"text"`
				State struct {
					Metadata struct {
						Output string `json:"output"`
					} `json:"metadata"`
				} `json:"state"`
			} `json:"part"`
		} `json:"properties"`
	}
	var v struct {
		said
		Payload *said `json:"payload"`
	}
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		e.t.Fatal(err)
	}
	if v.Payload != nil {
		v.said = *v.Payload
	}
	text := v.Properties.Part.Text
	if v.Type == "message.part.updated" && strings.HasPrefix(text, "from ") {
		e.prompt = append(e.prompt, strings.TrimRight(text, "x"))
	}
	if out := v.Properties.Part.State.Metadata.Output; out != "" {
		e.output = out
	}
	if v.Type == "session.idle" {
		e.idle++
	}
	return v.Type
}

// until reads to the frame with the id.
func (e *ear) until(id int64) {
	e.t.Helper()
	for len(e.ids) == 0 || e.ids[len(e.ids)-1] < id {
		e.frame()
	}
}

// rests reads until sessions came to rest so often.
func (e *ear) rests(n int) {
	e.t.Helper()
	for e.idle < n {
		e.frame()
	}
}

func (e *ear) same(what string, ids []int64) {
	e.t.Helper()
	if !slices.Equal(e.ids, ids) {
		e.t.Errorf("%s got the frames\n%v, want\n%v", what, e.ids, ids)
	}
}

// V1's streams have the events of other processes: what runs through the server at once, also to a reader that stalled;
// what happened while the server was dead, to those who come again with the id of what they got last. Each once, in
// order.
func TestEventsOfOtherProcesses(t *testing.T) {
	w := newWorld(t, 0)
	long := strings.Repeat("x", 100<<10)
	server := w.start("")
	here, everywhere, stalled := server.listen(t, "/event", 0), server.listen(t, "/global/event", 0), server.listen(
		t,
		"/event",
		0,
	)
	for n := range 4 { // each more than what stands between a reader and the server holds
		w.command("run", fmt.Sprintf("from another process, number %d%s", n, long))
		here.rests(n + 1)
		everywhere.rests(n + 1)
		if n < 3 { // the last one finds a reader that stalls; all together could take longer than sse.WriteTimeout
			stalled.rests(n + 1)
		}
	}
	newest := here.ids[len(here.ids)-1]
	stalled.until(newest)
	stalled.same("who stalled", here.ids)
	everywhere.same("who hears of all directories", here.ids)
	if len(here.prompt) != 4 || !slices.IsSorted(here.prompt) || !slices.Equal(here.prompt, stalled.prompt) ||
		!slices.Equal(here.prompt, everywhere.prompt) {
		t.Errorf("heard %q, %q and %q", here.prompt, stalled.prompt, everywhere.prompt)
	}

	server.kill()
	w.command("run", "from a process on its own")
	server = w.start("")
	defer server.leave()
	middle := len(here.ids) / 2
	for _, path := range []string{"/event", "/global/event"} {
		again := server.listen(t, path, newest)
		for len(again.prompt) == 0 {
			again.frame()
		}
		if again.ids[0] <= newest || again.prompt[0] != "from a process on its own" {
			t.Errorf("%s: behind %d came %v with %q", path, newest, again.ids, again.prompt)
		}
		late := server.listen(t, path, here.ids[middle])
		late.until(newest)
		late.same(path+" from the middle on", here.ids[middle+1:])
	}
}
