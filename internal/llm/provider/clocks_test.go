package provider_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// pipeModel returns a Model with in-memory connections that handle serves, so that synctest controls the clock.
func pipeModel(t *testing.T, handle func(net.Conn)) *provider.Model {
	t.Helper()
	return pipeModelAt(t, "http://pipe.test/v1", handle)
}

// pipeModelAt is pipeModel with a base URL.
func pipeModelAt(t *testing.T, base string, handle func(net.Conn)) *provider.Model {
	t.Helper()
	transport := provider.NewTransport()
	transport.Proxy = nil
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if handle == nil {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
				handle(server)
			}
		}()
		return client, nil
	}
	t.Cleanup(transport.CloseIdleConnections)
	m, err := provider.New(provider.Config{
		Vendor: provider.NewCompatible("test", "Test", base), Key: secret, Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const header = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

// hang waits until the peer closes the connection.
func hang(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func TestClocks(t *testing.T) {
	tests := []struct {
		name   string
		handle func(net.Conn)
		clocks llm.Clocks
		phase  llm.Phase // empty: the turn ends well
		after  time.Duration
	}{
		{"no connection", nil, llm.Clocks{}, llm.PhaseConnect, 10 * time.Second},
		{"no headers", hang, llm.Clocks{}, llm.PhaseFirstByte, 60 * time.Second},
		{
			"headers, then silence", func(c net.Conn) { io.WriteString(c, header); hang(c) },
			llm.Clocks{},
			llm.PhaseSilence,
			120 * time.Second,
		},
		{
			"silence in the middle", func(c net.Conn) {
				io.WriteString(c, header+hello)
				time.Sleep(100 * time.Second)
				io.WriteString(c, ": ping\n\n")
				hang(c)
			}, llm.Clocks{}, llm.PhaseSilence, 220 * time.Second,
		},
		{"own clock", hang, llm.Clocks{FirstByte: time.Second}, llm.PhaseFirstByte, time.Second},
		{
			"total time: one byte a second", func(c net.Conn) {
				io.WriteString(c, header+hello)
				for s := range 60 {
					time.AfterFunc(time.Duration(s)*time.Second, func() { io.WriteString(c, ":") })
				}
				hang(c)
			}, llm.Clocks{Turn: 30500 * time.Millisecond}, llm.PhaseTurn, 30500 * time.Millisecond,
		},
		{
			"no total time by default: one byte a second for an hour", func(c net.Conn) {
				io.WriteString(c, header)
				for range 3600 {
					time.Sleep(time.Second)
					io.WriteString(c, ":")
				}
				io.WriteString(c, "\n"+hello+stop+done)
			}, llm.Clocks{}, "", time.Hour,
		},
		{
			"slow headers within the bound", func(c net.Conn) {
				time.Sleep(59 * time.Second)
				io.WriteString(c, header+hello+stop+done)
			}, llm.Clocks{}, "", 59 * time.Second,
		},
		{
			"silence after the finish marker", func(c net.Conn) { io.WriteString(c, header+hello+stop); hang(c) },
			llm.Clocks{},
			"", 120*time.Second + 100*time.Millisecond,
		},
		{
			"DONE ends the turn though the server lingers",
			func(c net.Conn) { io.WriteString(c, header+hello+stop+done); hang(c) },
			llm.Clocks{},
			"", 100 * time.Millisecond,
		},
		{
			"an error body that never ends",
			func(c net.Conn) { io.WriteString(c, "HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n{"); hang(c) },
			llm.Clocks{},
			llm.PhaseSilence, 120 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				req := request()
				req.Clocks = tt.clocks
				out := stream(t.Context(), pipeModel(t, tt.handle), req)
				switch {
				case tt.phase == "" && (out.err != nil || out.finish == nil):
					t.Errorf("got %+v", out)
				case tt.phase != "" &&
					(out.err == nil || out.err.Class != llm.Timeout || out.err.Phase != tt.phase || !out.err.IsRetryable()):
					t.Errorf("got %v", out.err)
				}
				if took := time.Since(start); took > tt.after || tt.phase != "" && took != tt.after {
					t.Errorf("took %s, want %s", took, tt.after)
				}
			})
		})
	}
}

// Servers of this machine and its network have time to load a model, unless the configuration says otherwise.
func TestClocksOfLocalServers(t *testing.T) {
	for base, want := range map[string]time.Duration{
		"http://localhost:1234/v1": 10 * time.Minute, "http://127.0.0.1/v1": 10 * time.Minute,
		"http://[::1]:80/v1": 10 * time.Minute, "http://192.168.1.7/v1": 10 * time.Minute,
		"http://box.local/v1": 10 * time.Minute, "http://9.9.9.9/v1": time.Minute,
	} {
		for _, own := range []time.Duration{0, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				start, req := time.Now(), request()
				req.Clocks.FirstByte = own
				out := stream(t.Context(), pipeModelAt(t, base, hang), req)
				if took := time.Since(start); out.err == nil || took != cmp.Or(own, want) {
					t.Errorf("%s: %v after %s", base, out.err, took)
				}
			})
		}
	}
}

func TestInterrupt(t *testing.T) {
	why := errors.New("the user pressed escape")
	for name, handle := range map[string]func(net.Conn){
		"while connecting": nil,
		"while waiting":    hang,
		"while streaming":  func(c net.Conn) { io.WriteString(c, header+hello); hang(c) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(why) })
				out := stream(ctx, pipeModel(t, handle), request())
				if out.err == nil || out.err.Class != llm.Aborted || !errors.Is(out.err, why) || out.err.IsRetryable() {
					t.Errorf("got %v", out.err)
				}
			})
		})
	}
}

func TestConsumerStopsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := pipeModel(t, func(c net.Conn) { io.WriteString(c, header+hello); hang(c) })
		for range m.Stream(t.Context(), request()) {
			break
		}
	})
}
