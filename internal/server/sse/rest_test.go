package sse_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/server/sse"
)

// one is a listener with one connection.
type one struct {
	conn chan net.Conn
	done chan struct{}
}

func (l one) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l one) Close() error   { close(l.done); return nil }
func (l one) Addr() net.Addr { return &net.UnixAddr{Name: "test", Net: "unix"} }

// The time that a stream's reader has is not that of the request behind it on the same connection, which therefore need
// not end with the stream: net/http takes the deadline away.
func TestARequestBehindAStreamHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		routes := http.NewServeMux()
		routes.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
			_, s := sse.Open(r.Context(), w)
			s.Close()
		})
		routes.HandleFunc("/more", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "more") })
		server := &http.Server{Handler: routes, ReadHeaderTimeout: sse.WriteTimeout}
		ours, theirs := net.Pipe()
		l := one{make(chan net.Conn, 1), make(chan struct{})}
		l.conn <- theirs
		go func() { _ = server.Serve(l) }() // ends with Close
		defer server.Close()
		defer ours.Close()
		r := bufio.NewReader(ours)
		ask := func(path string) string {
			if _, err := io.WriteString(ours, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		if got := ask("/stream"); !strings.Contains(got, ":ok") {
			t.Error(got)
		}
		time.Sleep(sse.WriteTimeout + time.Second)
		if got := ask("/more"); got != "more" {
			t.Error(got)
		}
	})
}
