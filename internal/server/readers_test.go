package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server"
	"github.com/cairn-dev/cairn/internal/session"
)

// open opens a V1 stream on a connection of its own and reads until it stands.
func (h *house) open(t *testing.T, path string) (net.Conn, *bufio.Reader) {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	r := bufio.NewReaderSize(c, 1<<10)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "server.connected") {
			return c, r
		}
	}
}

// A thousand readers of V1's streams stand idle at little cost, and leave nothing behind.
func TestAThousandReadersOfV1(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a thousand connections")
	}
	const readers = 1000
	h := start(t, server.Config{Streams: readers + 1})
	h.open(t, "/event") // whatever is made once
	before, goroutines := heap(), runtime.NumGoroutine()
	var all []net.Conn
	for i := range readers {
		c, _ := h.open(t, []string{"/event?directory=/work", "/global/event", "/event?directory=/elsewhere"}[i%3])
		all = append(all, c)
	}
	perReader := (heap() - before) / readers
	t.Logf("%d KiB of heap and stack per idle reader", perReader>>10)
	if perReader > 96<<10 {
		t.Errorf("an idle reader costs %d KiB", perReader>>10)
	}
	for _, c := range all {
		_ = c.Close()
	}
	for left := 0; ; {
		if left = runtime.NumGoroutine() - goroutines; left <= 8 {
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("%d goroutines are left", left)
		}
		runtime.Gosched()
	}
}

// A reader that did not read for a while gets all durable events in order.
func TestASlowReaderCatchesUp(t *testing.T) {
	h := start(t, server.Config{})
	c := &api.Client{HTTP: &http.Client{Transport: api.Local(h.NewLocalHandler())}}
	_, stalled := h.open(t, "/event")
	s, err := c.Create(t.Context(), api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	const prompts = 50
	text := strings.Repeat("x", 20<<10)
	for i := range prompts { // more than what stands between the two holds
		r := api.PromptRequest{
			ID:     session.MessageID(fmt.Sprintf("msg_%02d", i)),
			Prompt: &session.Prompt{Text: text},
			Resume: new(false),
		}
		if _, err := c.Prompt(t.Context(), s.ID, r); err != nil {
			t.Fatal(err)
		}
	}
	next, positions := 0, map[string]bool{}
	for next < prompts {
		line, err := stalled.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended before prompt %d: %v", next, err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok && positions[id] {
			t.Errorf("frame %s came twice", id)
		} else if ok {
			positions[id] = true
		}
		if strings.Contains(line, `"message.updated"`) {
			if want := fmt.Sprintf(`"id":"msg_%02d"`, next); !strings.Contains(line, want) {
				t.Fatalf("%.300s\ncame where %s was to come", line, want)
			}
			next++
		}
	}
}

// OpenCode's clients come again when a stream breaks, and never when it ends. One in Node takes for an end whatever
// closes a connection that was announced to be closed.
func TestAStreamOfV1BreaksAndDoesNotEnd(t *testing.T) {
	for _, path := range []string{"/event", "/global/event"} {
		h := start(t, server.Config{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.Close {
			t.Errorf("%s is said to be the last answer of its connection", path)
		}
		if err := h.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		b, err := io.ReadAll(resp.Body)
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(string(b), "server.connected") {
			t.Errorf("%s ended with %v behind %q", path, err, b)
		}
	}
}

// A HEAD request for a stream opens no stream and keeps its connection usable.
func TestHeadOfAStream(t *testing.T) {
	h := start(t, server.Config{})
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/event", "/global/event", "/api/event"} {
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			if method == http.MethodGet {
				path = "/api/health"
			}
			req, err := http.NewRequestWithContext(t.Context(), method, h.url+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			bearer(req)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK || resp.Close {
				t.Errorf("%s %s: %s, closes %t", method, path, resp.Status, resp.Close)
			}
		}
	}
}
