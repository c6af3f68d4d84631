//go:build unix

package server_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/server"
)

// terminal opens one that runs the script and returns its path.
func (h *house) terminal(t *testing.T, script string) (id, path string) {
	t.Helper()
	i, err := h.terms.Open(pty.Order{
		Directory: "/work", Cwd: t.TempDir(), Command: "sh", Args: []string{"-c", script},
		Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return i.ID, "/pty/" + i.ID + "/connect"
}

// dial connects; the status is 101 if it could. Headers are pairs.
func (h *house) dial(t *testing.T, path string, header ...string) (*websocket.Conn, int) {
	t.Helper()
	o := &websocket.DialOptions{HTTPHeader: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			o.Host = header[i+1]
		}
		if header[i] == "Sec-WebSocket-Protocol" {
			o.Subprotocols = strings.Split(header[i+1], ", ")
			continue
		}
		o.HTTPHeader.Set(header[i], header[i+1])
	}
	c, resp, err := websocket.Dial(t.Context(), h.url+path, o)
	if err != nil {
		if resp == nil {
			t.Fatal(err)
		}
		return nil, resp.StatusCode
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	return c, resp.StatusCode
}

// until reads frames until one ends with the text, and returns them all; binary ones are quoted.
func until(t *testing.T, c *websocket.Conn, text string) string {
	t.Helper()
	var all strings.Builder
	for !strings.HasSuffix(all.String(), text) {
		kind, p, err := c.Read(t.Context())
		if err != nil {
			t.Fatalf("%v before %q: %q", err, text, all.String())
		}
		if kind == websocket.MessageBinary {
			all.WriteString("[" + string(p) + "]")
			continue
		}
		all.Write(p)
	}
	return all.String()
}

// end reads until the server closes, and returns how.
func end(t *testing.T, c *websocket.Conn) websocket.StatusCode {
	t.Helper()
	for {
		if _, _, err := c.Read(t.Context()); err != nil {
			t.Log(err)
			return websocket.CloseStatus(err)
		}
	}
}

// A terminal is shown from where its reader wants, typed into, and closed when its program ends.
func TestTerminalOverWebSocket(t *testing.T) {
	h := start(t, server.Config{})
	_, path := h.terminal(t, `stty -echo; echo ready; while read x; do echo "got $x"; done; echo bye`)
	c, _ := h.dial(t, path)
	until(t, c, "ready\r\n")
	again, _ := h.dial(t, path)
	if got := until(t, again, "]"); got != "ready\r\n[\x00{\"cursor\":7}]" {
		t.Errorf("%q", got)
	}
	behind, _ := h.dial(t, path+"?cursor=5")
	if got := until(t, behind, "]"); got != "\r\n[\x00{\"cursor\":7}]" {
		t.Errorf("%q", got)
	}
	tail, _ := h.dial(t, path+"?cursor=-1")
	if got := until(t, tail, "]"); got != "[\x00{\"cursor\":7}]" {
		t.Errorf("%q", got)
	}
	for kind, words := range map[websocket.MessageType]string{
		websocket.MessageText:   "a text",
		websocket.MessageBinary: "some bytes",
	} {
		if err := c.Write(t.Context(), kind, []byte(words+"\n")); err != nil {
			t.Fatal(err)
		}
		until(t, c, "got "+words+"\r\n")
	}
	if err := tail.Write(t.Context(), websocket.MessageText, []byte{4}); err != nil { // control-D
		t.Fatal(err)
	}
	until(t, tail, "bye\r\n")
	for _, c := range []*websocket.Conn{c, again, behind, tail} {
		if got := end(t, c); got != websocket.StatusNormalClosure {
			t.Error(got)
		}
	}
	if _, status := h.dial(t, path); status != 404 {
		t.Error("what has ended can be connected to:", status)
	}
}

// A terminal refuses callers that every other operation refuses (GHSA-vxw4-wv6m-9hhh): not the pages of others,
// whatever browsers let them do with WebSockets, and not under another name.
func TestTerminalsAreForTheirUser(t *testing.T) {
	h := start(t, server.Config{})
	id, path := h.terminal(t, "read x")
	for name, c := range map[string]struct {
		path   string
		header []string
		want   int
	}{
		"own process":              {path, nil, 101},
		"page of others":           {path, []string{"Origin", "https://evil.example"}, 403},
		"page of another port":     {path, []string{"Origin", "http://localhost:1"}, 403},
		"no page":                  {path, []string{"Origin", "null"}, 403},
		"another name":             {path, []string{"Host", "evil.example"}, 403},
		"through a tunnel":         {path, []string{"Host", "localhost:5000"}, 101},
		"page of the tunnel":       {path, []string{"Host", "localhost:5000", "Origin", "http://localhost:5000"}, 401},
		"page beside a tunnel":     {path, []string{"Host", "localhost:5000", "Origin", "http://localhost:5001"}, 403},
		"own page, no credentials": {path, []string{"Origin", h.url}, 401},
		"own page, with secret":    {path, []string{"Origin", h.url, "Authorization", "Bearer " + secret}, 101},
		"unknown terminal":         {"/pty/pty_none/connect", nil, 404},
		"of another directory":     {path + "?directory=/tmp", nil, 404},
		"no terminal's id":         {"/pty/x/connect", nil, 400},
		"bad cursor":               {path + "?cursor=x", nil, 400},
		"bad ticket":               {path + "?ticket=x", nil, 403},
		"no ticket":                {path + "?ticket=", nil, 403},
	} {
		if _, got := h.dial(t, c.path, c.header...); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if status, body := h.ask(t, http.MethodGet, path, nil); status != 400 || !strings.Contains(body, "WebSocket") {
		t.Error(status, body)
	}
	status, body := h.ask(t, http.MethodPost, "/pty/"+id+"/connect-token", nil)
	if status != 403 || !strings.Contains(body, "PtyForbiddenError") {
		t.Error(status, body)
	}
}

// Browsers cannot send credentials with a WebSocket: they ask for a ticket with them, which admits once.
func TestATicketAdmitsOnce(t *testing.T) {
	h := start(t, server.Config{Password: "p"})
	id, path := h.terminal(t, "read x")
	other, _ := h.terminal(t, "read x")
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("opencode:p"))
	ticket := func() string {
		status, body := h.ask(t, http.MethodPost, "/pty/"+id+"/connect-token", func(r *http.Request) {
			r.Header.Set("Authorization", basic)
			r.Header.Set("X-Opencode-Ticket", "1")
			r.Header.Set("Origin", h.url)
		})
		_, word, ok := strings.Cut(body, `"ticket":"`)
		if status != 200 || !ok {
			t.Fatal(status, body)
		}
		return word[:36]
	}
	if status, _ := h.ask(t, http.MethodPost, "/pty/"+id+"/connect-token",
		func(r *http.Request) { r.Header.Set("X-Opencode-Ticket", "1") }); status != 401 {
		t.Error("a ticket without credentials:", status)
	}
	word := ticket()
	for _, c := range []struct {
		name, path string
		origin     string
		want       int
	}{
		{"nothing", path, h.url, 401},
		{"guess", path + "?ticket=" + strings.Repeat("0", 36), h.url, 401},
		{"for another terminal", "/pty/" + other + "/connect?ticket=" + word, h.url, 401},
		{"for another operation", "/pty/" + id + "?ticket=" + word, h.url, 401},
		{"from a page of others", path + "?ticket=" + word, "https://evil.example", 403},
		{"from another page", path + "?ticket=" + word, strings.Replace(h.url, "127.0.0.1", "localhost", 1), 401},
		{"right", path + "?ticket=" + word, h.url, 101},
		{"again", path + "?ticket=" + word, h.url, 401},
	} {
		if _, got := h.dial(t, c.path, "Origin", c.origin); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	protocols := "cairn.terminal, ticket." + ticket()
	c, got := h.dial(t, path, "Origin", h.url, "Sec-WebSocket-Protocol", protocols)
	if got != 101 || c.Subprotocol() != "cairn.terminal" {
		t.Fatal("as a protocol:", got)
	}
	if _, got := h.dial(t, path, "Origin", h.url, "Sec-WebSocket-Protocol", protocols); got != 401 {
		t.Error("as a protocol, again:", got)
	}
	if _, got := h.dial(t, path+"?directory=/tmp&ticket="+ticket(), "Origin", h.url); got != 404 {
		t.Error("another directory:", got)
	}
}

// A server that ends says so to who watches a terminal.
func TestTerminalsEndWithTheServer(t *testing.T) {
	h := start(t, server.Config{})
	_, path := h.terminal(t, "echo ready; read x")
	c, _ := h.dial(t, path)
	until(t, c, "ready\r\n")
	done := make(chan error, 1)
	go func() { done <- h.Shutdown(context.Background()) }()
	if got := end(t, c); got != websocket.StatusGoingAway {
		t.Error(got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
