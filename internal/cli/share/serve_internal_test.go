package share

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/connlimit"
)

// Connections are bounded: of those without a request the oldest is closed, and those with one stay.
func TestConnectionsAreBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if c, ok := connlimit.FromContext(r.Context()); ok {
			c.MakeKnown() // as sharepage.Server does
		}
	})
	const limit = 3
	go func() { done <- servePages(ctx, l, handler, limit) }()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	ask := func(c net.Conn) error {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		_, err := http.ReadResponse(bufio.NewReader(c), nil)
		return err
	}
	reader := dial()
	if err := ask(reader); err != nil {
		t.Fatal(err)
	}
	first := dial()
	for range limit {
		dial()
	}
	if err := first.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("idle connections have no bound")
	}
	if err := ask(reader); err != nil {
		t.Errorf("the connection of a reader was closed: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
