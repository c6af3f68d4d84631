package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/server"
)

// dialAndAsk opens a connection and sends a request with the header lines.
func (h *house) dialAndAsk(t *testing.T, network, lines string) (net.Conn, *http.Response) {
	t.Helper()
	c := h.connect(t, network)
	fmt.Fprintf(c, "GET /api/health HTTP/1.1\r\nHost: localhost\r\n%s\r\n", lines)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return c, resp
}

func (h *house) connect(t *testing.T, network string) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), network, map[string]string{"tcp": h.host, "unix": h.socket}[network])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// isClosed reports whether the server closes a connection, perhaps after an answer.
func isClosed(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err := io.Copy(io.Discard, c) // nil at the end
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// TestRefusedConnectionsAreClosed: an answer to an unknown caller is the last one of its connection.
func TestRefusedConnectionsAreClosed(t *testing.T) {
	h := start(t, server.Config{Password: "pw"})
	for what, lines := range map[string]string{
		"without a credential": "", "a wrong one": "Authorization: Bearer x\r\n",
		"another host": "Host: evil.example\r\n",
		"another page": "Origin: https://evil.example\r\n", "a browser": "Accept: text/html\r\n",
	} {
		c, resp := h.dialAndAsk(t, "tcp", lines)
		if !resp.Close || !isClosed(t, c) {
			t.Errorf("%s: the connection stays open after %s", what, resp.Status)
		}
	}
	_, resp := h.dialAndAsk(t, "tcp", "Authorization: Bearer "+secret+"\r\n")
	if resp.Close || resp.StatusCode != http.StatusOK {
		t.Errorf("the connection of a known caller is closed after %s", resp.Status)
	}
}

// TestStrangersLockNobodyOut: connections without a credential, silent or refused, take none from known callers.
func TestStrangersLockNobodyOut(t *testing.T) {
	h := start(t, server.Config{Password: "pw", Connections: 8})
	known, _ := h.dialAndAsk(t, "tcp", "Authorization: Bearer "+secret+"\r\n")
	var strangers []net.Conn
	for range 100 {
		strangers = append(strangers, h.connect(t, "tcp"))
	}
	for _, network := range []string{"tcp", "unix"} {
		if _,
			resp := h.dialAndAsk(t, network, "Authorization: Bearer "+secret+"\r\n"); resp.StatusCode != http.StatusOK {
			t.Errorf("%s beside strangers: %s", network, resp.Status)
		}
	}
	fmt.Fprintf(known, "GET /api/health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", secret)
	if resp, err := http.ReadResponse(bufio.NewReader(known), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("an open connection of a known caller beside strangers: %v %v", resp, err)
	}
	for i, c := range strangers {
		if !isClosed(t, c) {
			t.Fatalf("connection %d, which never sent a request, stays open", i)
		}
	}
}

// TestBurstOfTheUser: connections of the user that come at once, before any of them is identified, are all answered.
func TestBurstOfTheUser(t *testing.T) {
	const burst = 30
	for _, network := range []string{"tcp", "unix"} {
		all := make(chan struct{}) // closed when every connection has sent its request
		h := start(t, server.Config{Connections: burst, ToolProcess: func(int) bool { <-all; return false }})
		var conns []net.Conn
		for range burst {
			c := h.connect(t, network)
			fmt.Fprint(c, "GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			conns = append(conns, c)
		}
		close(all)
		for i, c := range conns {
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: connection %d of %d at once: %v %v", network, i+1, burst, resp, err)
			}
		}
	}
}

// TestASlowStrangerIsClosed: sending a header byte by byte does not keep a connection.
func TestASlowStrangerIsClosed(t *testing.T) {
	h := start(t, server.Config{Password: "pw"})
	c := h.connect(t, "tcp")
	go func() { // ends when the connection is closed
		for _, err := io.WriteString(c, "G"); err == nil; _, err = io.WriteString(c, "x") {
			select {
			case <-t.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	if !isClosed(t, c) {
		t.Error("the connection stays open")
	}
}

// TestStreamsOfAClientAreBounded: a client with too many event streams gets 429, and others their own.
func TestStreamsOfAClientAreBounded(t *testing.T) {
	h := start(t, server.Config{Streams: 3})
	var open []net.Conn
	for range 3 {
		c, _ := h.open(t, "/event")
		open = append(open, c)
	}
	ask := func(network, path string) *http.Response {
		c := h.connect(t, network)
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, secret)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	for _, path := range []string{"/event", "/global/event", "/api/event"} {
		resp := ask("unix", path)
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(text), "limits.streams") {
			t.Errorf("%s: a fourth stream got %s %s", path, resp.Status, text)
		}
	}
	if resp := ask("tcp", "/event"); resp.StatusCode != http.StatusOK {
		t.Errorf("another client got %s", resp.Status)
	}
	if resp := ask("unix", "/api/health"); resp.StatusCode != http.StatusOK {
		t.Errorf("another request of the client got %s", resp.Status)
	}
	_ = open[0].Close()
	for resp := ask("unix", "/event"); resp.StatusCode != http.StatusOK; resp = ask("unix", "/event") {
		if t.Context().Err() != nil {
			t.Fatal("a closed stream is still counted")
		}
		runtime.Gosched()
	}
}

// TestSlowBodiesOfOneClient: a client that sends many large bodies slowly delays no other one, nor its smaller bodies.
func TestSlowBodiesOfOneClient(t *testing.T) {
	const limit = 1 << 20
	h := start(t, server.Config{BodyLimit: limit, Password: "pw"})
	post := func(network string, size int) net.Conn {
		c := h.connect(t, network)
		fmt.Fprintf(c, "POST /log HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", secret, size, beginning)
		return c
	}
	for range 8 {
		post("tcp", limit) // and no more
	}
	for network, size := range map[string]int{"unix": limit, "tcp": limit / 16} {
		c := post(network, size)
		_, _ = io.WriteString(c, strings.Repeat("x", size-len(beginning)-2)+`"}`)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%d bytes over %s: %v %v", size, network, resp, err)
		}
	}
}
