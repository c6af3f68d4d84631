package server_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/server"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
)

// relay runs a second server, which answers by the first.
func (h *house) relay(t *testing.T, c server.Config) *house {
	t.Helper()
	return h.relayOf(t, c, server.Relay{})
}

func (h *house) relayOf(t *testing.T, c server.Config, by server.Relay) *house {
	t.Helper()
	c.V1, c.V2, c.Secret, c.TCP = v1.New(v1.Config{}), v2.New(v2.Config{}), secret, true
	c.Listener = newListener(t, "127.0.0.1")
	by.Socket, by.Directory = h.socket, "/relay/öl"
	c.Relay = by
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, s)
	return &house{
		Server: s,
		store:  h.store,
		log:    h.log,
		engine: h.engine,
		terms:  h.terms,
		url:    s.URL(),
		host:   strings.TrimPrefix(s.URL(), "http://"),
		socket: h.socket,
	}
}

// What one server does the other shows; only where requests go that name no directory is each one's own.
func TestRelayAnswersAsTheOwner(t *testing.T) {
	h := start(t, server.Config{Password: "of the owner"})
	r := h.relay(t, server.Config{Password: "of the relay"})
	for _, c := range []struct{ path, change, want string }{
		{"/session", "", `"directory":"/relay/öl"`},
		{"/session?directory=/other", "", `"directory":"/other"`},
		{"/session?directory=below", "", `"directory":"/relay/öl/below"`},
		{"/session", "X-Opencode-Directory: %2Fnamed", `"directory":"/named"`},
		{"/session?directory=/a%3Bb", "", `"directory":"/a;b"`},
		{"/api/session", "", `"directory":"/relay/öl"`},
	} {
		status, body := r.ask(t, http.MethodPost, c.path, func(req *http.Request) {
			bearer(req)
			name, value, _ := strings.Cut(c.change, ": ")
			req.Header.Del(name)
			if value != "" {
				req.Header.Set(name, value)
			}
		})
		if status/100 != 2 || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}
	page := func(req *http.Request) { bearer(req); req.Header.Set("Origin", r.url) }
	resp := r.fetch(t, http.MethodGet, "/session", "", page)
	for _, name := range []string{
		"Vary", "Cache-Control", "X-Content-Type-Options", "Access-Control-Allow-Origin",
		"Content-Type",
	} {
		if got := resp.Header.Values(name); len(got) != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := r.fetch(t, http.MethodGet, "/event", "",
		bearer).Header.Get("Cache-Control"); got != "no-cache, no-transform" {
		t.Errorf("a stream bears %q", got)
	}
	small := h.relay(t, server.Config{BodyLimit: 10})
	chunked := io.MultiReader(strings.NewReader(`{"title":"more than ten"}`)) // of unknown length
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, small.url+"/session", chunked)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if status, body := send(t, http.DefaultTransport, req); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the limit: %d %s", status, body)
	}
	if status, body := r.ask(t, http.MethodPost, "/pty/pty_x/connect-token", bearer); status != http.StatusBadRequest {
		t.Errorf("an invalid ticket: %d %s", status, body)
	}
	if status, body := h.ask(t, http.MethodGet, "/api/session", bearer); status != 200 ||
		!strings.Contains(body, `"directory":"/a;b"`) {
		t.Errorf("the owner shows %d %s", status, body)
	}
}

// A relayed stream is passed on as it is produced and ends with the owner's; a request after that gets an error in the
// form of its contract.
func TestRelayWithoutItsOwner(t *testing.T) {
	h := start(t, server.Config{})
	r := h.relay(t, server.Config{})
	events := bufio.NewReader(r.fetch(t, http.MethodGet, "/event", "", bearer).Body)
	h.ask(t, http.MethodPost, "/session?directory=/relay/%C3%B6l", bearer)
	for line := ""; !strings.Contains(line, "session.created"); {
		var err error
		if line, err = events.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(events); err == nil {
		t.Error(
			"the stream ended as if there were no more",
		) // Node's fetch, and so OpenCode's SDK, does not come again then
	}
	for path, want := range map[string]string{"/session": `"name":"`, "/api/session": `"_tag":"`} {
		if status, body := r.ask(t, http.MethodGet, path, bearer); status != http.StatusServiceUnavailable ||
			!strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// The stages of a relay are those of any server: nothing that they refuse reaches the owner, which would take it.
func TestRelayRefuses(t *testing.T) {
	h := start(t, server.Config{})
	r := h.relay(t, server.Config{Password: "pw"})
	host, json := "Host: "+r.host, "Content-Type: application/json"
	for what, headers := range map[string][]string{
		"another name":   {"Host: evil.example", "Authorization: Bearer " + secret, json},
		"page of others": {host, "Authorization: Bearer " + secret, json, "Origin: https://evil.example"},
	} {
		r.refusedAll(t, what, headers, "403 400")
	}
	r.refusedAll(t, "no credentials", []string{host, json}, "401 415 303")
}

// A relay refuses to forward to another process at the owner's socket until it is allowed.
func TestRelayKnowsItsOwner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the kernel does not say whose socket it is")
	}
	h := start(t, server.Config{})
	for may, want := range map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable} {
		r := h.relayOf(t, server.Config{}, server.Relay{Owner: func(pid int) bool { return may && pid == os.Getpid() }})
		if status, body := r.ask(t, http.MethodGet, "/api/health", bearer); status != want {
			t.Errorf("may %t: %d %s", may, status, body)
		}
	}
}

// A connection between two servers of one address waits for the second.
func TestTheNextServerTakesTheAddress(t *testing.T) {
	h := start(t, server.Config{})
	r := h.relay(t, server.Config{})
	next := server.Config{
		V1:       v1.New(v1.Config{}),
		V2:       v2.New(v2.Config{}),
		Secret:   secret,
		TCP:      true,
		Listener: r.DuplicateListener(),
		Relay:    server.Relay{Socket: h.socket, Directory: "/next"},
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() {
		resp, err := http.Get(r.url + "/api/health") //nolint:noctx // it ends with the server
		if err != nil {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	s, err := server.New(next)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, s)
	if got := <-answered; got != http.StatusOK || s.URL() != r.url {
		t.Errorf("%d at %s, was %s", got, s.URL(), r.url)
	}
}
