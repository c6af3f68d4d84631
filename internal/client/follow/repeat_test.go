package follow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
)

// A call that failed for good is sent once; one that an ending owner did not take is sent again.
func TestRefusedCalls(t *testing.T) {
	for service, want := range map[string]int{`,"service":"mcp"`: 1, `,"service":"store"`: 1, ``: 2} {
		sent := 0
		server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			sent++
			w.Header().Set("Content-Type", "application/json")
			if sent > 1 {
				fmt.Fprint(w, `{"data":{}}`)
				return
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"_tag":"ServiceUnavailableError","message":"its program ended"%s}`, service)
		})
		open := func(context.Context) (*client.Connection, error) {
			c := &api.Client{HTTP: &http.Client{Transport: api.Local(server)}, Base: "http://localhost"}
			return &client.Connection{API: c, Close: func(context.Context) error { return nil }}, nil
		}
		c := &api.Client{HTTP: &http.Client{Transport: follow.NewReconnectTransport(open)}, Base: "http://localhost"}
		_, err := c.CallMCP(t.Context(), "x", api.MCPCall{Tool: "pay"})
		if sent != want || (err != nil) != (want == 1) {
			t.Errorf("%q: sent %d times, want %d: %v", service, sent, want, err)
		}
	}
}

// A request that waits while another one opens a connection, which may take long, ends with its context.
func TestConnectEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := make(chan struct{})
		transport := follow.NewReconnectTransport(func(context.Context) (*client.Connection, error) {
			<-opened
			return &client.Connection{}, nil
		})
		first := make(chan error)
		go func() {
			_, err := transport.Connect(t.Context())
			first <- err
		}()
		synctest.Wait()
		ended := errors.New("the editor has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			synctest.Wait()
			cancel(ended)
			synctest.Wait()
			close(opened)
		}()
		if _, err := transport.Connect(ctx); !errors.Is(err, ended) {
			t.Errorf("the second: %v", err)
		}
		if err := <-first; err != nil {
			t.Errorf("the first: %v", err)
		}
	})
}

// A call ends a minute after the server was lost: its transport has looked for another one for so long. A call that lasted for
// longer before is repeated.
func TestRepeatedCallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := follow.NewReconnectTransport(func(context.Context) (*client.Connection, error) {
			return nil, &api.TransportError{Op: "find the server", Err: errors.New("none")}
		})
		c := &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: transport}}
		began := time.Now()
		err := follow.RepeatUntilAnswered(t.Context(), func() error { return c.Resume(t.Context(), "ses_1") })
		if took := time.Since(began); !follow.IsConnectionLost(err) || took > 90*time.Second {
			t.Errorf("%v after %s", err, took)
		}
		calls := 0
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls++; calls < 3 {
				time.Sleep(time.Hour)
				panic(http.ErrAbortHandler) // its process ends
			}
			w.WriteHeader(http.StatusNoContent)
		})
		transport = follow.NewReconnectTransport(func(context.Context) (*client.Connection, error) {
			c := &api.Client{HTTP: &http.Client{Transport: api.Local(server)}, Base: "http://localhost"}
			return &client.Connection{API: c, Close: func(context.Context) error { return nil }}, nil
		})
		c.HTTP = &http.Client{Transport: transport}
		err = follow.RepeatUntilAnswered(t.Context(), func() error { return c.Resume(t.Context(), "ses_1") })
		if err != nil || calls != 3 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}
