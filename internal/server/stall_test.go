package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/server"
)

// piped listens for the one connection that it was made with.
type piped struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l piped) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l piped) Close() error   { return nil }
func (l piped) Addr() net.Addr { return &net.TCPAddr{} }

// converse sends what a client says, and returns what it hears until it is cut off, and how long that took: an hour if
// it is not. It is called in a bubble.
func converse(t *testing.T, request string) (heard string, took time.Duration) {
	t.Helper()
	s := &http.Server{Handler: inProcess(t, server.Config{})}
	l := piped{make(chan net.Conn, 1), make(chan struct{})}
	ours, theirs := net.Pipe()
	l.conns <- theirs
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Close() }()
	defer close(l.done)
	go func() { _, _ = io.WriteString(ours, request) }()
	begun := time.Now()
	_ = ours.SetReadDeadline(begun.Add(time.Hour))
	said, _ := io.ReadAll(ours)
	return string(said), time.Since(begun)
}

const requestLine = " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

// A client that starts a body and stops sending is disconnected, whether it declared a length or not.
func TestStalledBodiesAreCut(t *testing.T) {
	for name, request := range map[string]string{
		"of known length":     "POST /log" + requestLine + "Content-Length: 1000\r\n\r\n{",
		"that is large":       "POST /log" + requestLine + "Content-Length: 1000000\r\n\r\n{",
		"in chunks":           "POST /log" + requestLine + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"without credentials": "GET /path" + requestLine + "Content-Length: 1000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if heard, took := converse(t, request); took > 3*time.Minute {
					t.Errorf("after %s: %s", took, heard)
				}
			})
		})
	}
}

// A body that is not read to its end is never taken for further requests.
func TestABodyIsNoRequest(t *testing.T) {
	inner := strings.Repeat("GET /path"+requestLine+"\r\n", 10_000)
	for name, request := range map[string]string{
		"without credentials": "GET /path" + requestLine + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(inner)) +
			inner,
		"is no JSON": "POST /log" + requestLine + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(inner)) +
			inner,
		"is chunked": "GET /path" + requestLine +
			fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(inner)) + inner,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard, _ := converse(t, request)
				if n := strings.Count(heard, "HTTP/1.1 "); n != 1 {
					t.Errorf("%d answers: %.300s", n, heard)
				}
			})
		})
	}
}

// A packed body is not read as if it were plain.
func TestPackedBodies(t *testing.T) {
	h := start(t, server.Config{})
	request := "POST /log" + requestLine + "Connection: close\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"
	if got := h.rawAnswer(t, strings.Replace(request, "localhost", h.host, 1)); !strings.Contains(got, "415") {
		t.Error(got)
	}
}
