package provider_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// TestStaleConnection: a connection that breaks after the request was sent is an error, which the engine may retry and
// counts. No request is sent again unseen, whether the connection is new or was idle.
func TestStaleConnection(t *testing.T) {
	for _, answered := range []int{0, 1, 2} { // requests on a connection before it breaks
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var conns, asked atomic.Int32
		go func() { // ends with the listener
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				left := answered
				if conns.Add(1) > 1 && answered > 0 {
					left = 3
				}
				go breaking(conn, left, &asked) // ends with the connection
			}
		}()
		m := model(t, "http://"+l.Addr().String())
		for turn := range 3 {
			out := stream(t.Context(), m, request())
			if answered == 0 || turn == answered {
				if out.err == nil || out.err.Class != llm.Transport || !out.err.IsRetryable() {
					t.Errorf("turn %d, a connection that breaks after %d: %v", turn, answered, out.err)
				}
			} else if out.err != nil || out.text != "hello" {
				t.Errorf("turn %d, a connection that breaks after %d: %v", turn, answered, out.err)
			}
			if int(asked.Load()) != turn+1 {
				t.Errorf("turn %d, a connection that breaks after %d: asked %d times", turn, answered, asked.Load())
			}
		}
		l.Close()
	}
}

// breaking answers that many requests and resets the connection when the next one arrives.
func breaking(conn net.Conn, left int, asked *atomic.Int32) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		asked.Add(1)
		if left--; left < 0 {
			_ = conn.(*net.TCPConn).SetLinger(0)
			return
		}
		body := hello + stop + done
		_, _ = fmt.Fprintf(
			conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body,
		)
	}
}

// http2Server serves only HTTP/2 and returns a model for it with the settings of NewTransport.
func http2Server(t *testing.T, h http.HandlerFunc) (*httptest.Server, *provider.Model) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("%s", r.Proto)
		}
		h(w, r)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	transport := provider.NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	if transport.HTTP2.SendPingTimeout <= 0 || transport.HTTP2.PingTimeout <= 0 {
		t.Error("a dead connection is not detected")
	}
	transport.TLSClientConfig.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	m, err := provider.New(provider.Config{
		Vendor: provider.NewCompatible("test", "Test", s.URL), Key: secret, Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// TestHTTP2Shutdown: a server that shuts down during an answer (GOAWAY) completes it, and the next request fails at
// once: no server listens on this machine.
func TestHTTP2Shutdown(t *testing.T) {
	stopping, stopped := make(chan struct{}), make(chan error, 1)
	s, m := http2Server(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, hello)
		http.NewResponseController(w).Flush()
		<-stopping
		io.WriteString(w, stop+done)
	})
	s.Config.RegisterOnShutdown(func() { close(stopping) }) // the connections are closing
	text := ""
	for e, err := range m.Stream(t.Context(), request()) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.(llm.TextDelta); ok {
			text += d.Delta
			go func() { stopped <- s.Config.Shutdown(context.Background()) }() // awaited below
		}
	}
	if text != "hello" {
		t.Errorf("got %q", text)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if out := stream(t.Context(), m, request()); out.err == nil || out.err.Class != llm.Transport ||
		out.err.IsRetryable() {
		t.Errorf("after it: %v", out.err)
	}
}

// TestHTTP2IdleReset: connections that the server closed while they were idle cost at most one attempt.
func TestHTTP2IdleReset(t *testing.T) {
	s, m := http2Server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, hello+stop+done) })
	for range 5 {
		out := stream(t.Context(), m, request())
		if out.err != nil && out.err.IsRetryable() {
			out = stream(t.Context(), m, request())
		}
		if out.err != nil || out.text != "hello" {
			t.Errorf("%+v", out.err)
		}
		s.CloseClientConnections()
	}
}

// TestHTTP2StreamReset: a stream reset during an answer ends only that answer.
func TestHTTP2StreamReset(t *testing.T) {
	breaks := true
	_, m := http2Server(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, hello)
		http.NewResponseController(w).Flush()
		if breaks {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, stop+done)
	})
	if out := stream(t.Context(), m, request()); out.err == nil || out.err.Class != llm.Transport ||
		!out.err.IsRetryable() || out.text != "hello" {
		t.Errorf("%+v", out.err)
	}
	breaks = false
	if out := stream(t.Context(), m, request()); out.err != nil || out.text != "hello" {
		t.Errorf("after it: %v", out.err)
	}
}
