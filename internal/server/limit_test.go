package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestBodiesHaveALimit(t *testing.T) {
	h := start(t, server.Config{BodyLimit: 1 << 16})
	post := func(size int, known bool) (int, string) {
		var body io.Reader = strings.NewReader(`{"x":"` + strings.Repeat("a", size) + `"}`)
		if !known {
			body = io.MultiReader(body) // of no known length: chunked
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/api/session", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		bearer(req)
		return send(t, http.DefaultTransport, req)
	}
	for _, known := range []bool{true, false} {
		if code, body := post(1000, known); code != 200 {
			t.Errorf("a small body: %d %s", code, body)
		}
		if code, body := post(1<<16, known); code != 413 || !strings.Contains(body, "65536") {
			t.Errorf("a large body, length known %t: %d %s", known, code, body)
		}
	}
}

// TestRefusedBodyIsRead: a client that sends all of a body over the limit before it reads gets the response.
func TestRefusedBodyIsRead(t *testing.T) {
	h := start(t, server.Config{BodyLimit: 1 << 16})
	conn, err := net.Dial("tcp", h.host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 32 << 20
	var head strings.Builder
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/api/session", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	bearer(req)
	fmt.Fprintf(&head, "POST /api/session HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n", h.host)
	fmt.Fprintf(&head, "Authorization: %s\r\nContent-Length: %d\r\n\r\n", req.Header.Get("Authorization"), size)
	if _, err := io.WriteString(conn, head.String()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(conn, strings.NewReader(strings.Repeat("a", size)), size); err != nil {
		t.Fatalf("send the body: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestHeadersHaveALimit(t *testing.T) {
	h := start(t, server.Config{})
	got := h.rawAnswer(
		t,
		"GET /api/health HTTP/1.1\r\nHost: "+h.host+"\r\nX-A: "+strings.Repeat("a", 70<<10)+"\r\nConnection: close\r\n\r\n",
	)
	if !strings.Contains(got, "431") {
		t.Errorf("got %s", got)
	}
}

func TestConnectionsHaveALimit(t *testing.T) {
	h := start(t, server.Config{Connections: 4})
	var d net.Dialer
	for range 4 {
		c, err := d.DialContext(t.Context(), "tcp", h.host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /api/health HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", h.host, secret)
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := d.DialContext(t.Context(), "tcp", h.host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("the fifth got %d bytes", n)
	}
}

// Logs say what was asked, and nothing that is secret.
func TestLogsHoldNoSecrets(t *testing.T) {
	var log lockedBuffer
	h := start(
		t,
		server.Config{
			Password: "hunter22",
			Logger:   slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		},
	)
	h.ask(t, http.MethodGet, "/api/session?search=classified&auth_token=bWU6aHVudGVyMjI", nil)
	h.ask(t, http.MethodGet, "/api/health", bearer)
	h.ask(t, http.MethodPost, "/api/session", basic("opencode", "hunter22"))
	got := log.String()
	for _, bad := range []string{secret, "hunter22", "classified", "bWU6", "auth_token"} {
		if strings.Contains(got, bad) {
			t.Errorf("the log holds %q:\n%s", bad, got)
		}
	}
	if strings.Count(got, `"msg":"request"`) != 3 || !strings.Contains(got, `"status":200`) {
		t.Errorf("the log is\n%s", got)
	}
}

type lockedBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Idle readers cost little, and stalled readers delay no other reader.
func TestAThousandReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a thousand connections")
	}
	const readers = 1000
	h := start(t, server.Config{Streams: readers})
	c := &api.Client{HTTP: &http.Client{Transport: api.Local(h.NewLocalHandler())}}
	s, err := c.Create(t.Context(), api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	var d net.Dialer
	for i := range readers {
		conn, err := d.DialContext(t.Context(), "unix", h.socket)
		if err != nil {
			t.Fatal(i, err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /api/session/%s/event?live=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", s.ID)
		if _, err := conn.Read(make([]byte, 64)); err != nil { // it stands; nothing is read any more
			t.Fatal(i, err)
		}
	}
	perReader := (heap() - before) / readers
	t.Logf("%d KiB of heap and stack per idle reader", perReader>>10)
	if perReader > 96<<10 {
		t.Errorf("an idle reader costs %d KiB", perReader>>10)
	}
	text := strings.Repeat("x", 100<<10)
	for i := range 50 {
		begun := time.Now()
		r := api.PromptRequest{
			ID:     session.MessageID(fmt.Sprintf("msg_%d", i)),
			Prompt: &session.Prompt{Text: text},
			Resume: new(false),
		}
		if _, err := c.Prompt(t.Context(), s.ID, r); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took >= sse.WriteTimeout { // when a write to a stalled reader gives up
			t.Errorf("prompt %d beside stalled readers took %s", i, took)
		}
	}
	grown := heap() - before
	t.Logf("%d MiB with %d MiB waiting for each of %d stalled readers", grown>>20, 50*100>>10, readers)
	if grown > 400<<20 {
		t.Errorf("stalled readers cost %d MiB", grown>>20)
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

func TestShutdownIsPrompt(t *testing.T) {
	h := start(t, server.Config{})
	c := &api.Client{Base: h.url, Auth: api.Auth{Secret: secret}}
	s, err := c.Create(t.Context(), api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	stands := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		for u, err := range c.Follow(t.Context(), s.ID, -1) {
			if u.Event != nil {
				close(stands)
			}
			if err != nil {
				ended <- err
			}
		}
	}()
	<-stands
	begun := time.Now()
	if err := h.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the stream ended without an error")
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if _, err := c.Health(t.Context()); err == nil {
		t.Error("it still answers")
	}
}
