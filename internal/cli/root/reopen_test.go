package root

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// comings is a host whose owners change: each connection answers as configured, request by request.
type comings struct {
	*world
	mu    sync.Mutex // held while answer runs
	opens int
	open  func(n int) error // before the nth connection, from 1
	// what the nth connection does with a request: "", "dial", "cut", "done", "refuse", "full"
	answer func(n int, path string) string
	close  func(ctx context.Context) error
	idle   bool // no session works while close does
}

func (c *comings) Open(ctx context.Context, o client.Options) (*client.Connection, error) {
	c.opens++
	n := c.opens
	if c.open != nil {
		if err := c.open(n); err != nil {
			return nil, err
		}
	}
	conn, err := c.world.Open(ctx, o)
	if err == nil && c.answer != nil {
		next := conn.API.HTTP.Transport
		conn.API.HTTP.Transport = tripper(func(r *http.Request) (*http.Response, error) { return c.trip(n, next, r) })
	}
	if err == nil && c.close != nil {
		conn.Close, conn.IsWorking = c.close, func() bool { return !c.idle }
	}
	return conn, err
}

func (c *comings) trip(n int, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	how := c.answer(n, r.Method+" "+r.URL.Path)
	c.mu.Unlock()
	switch how {
	case "dial":
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: errors.New("no such file or directory")}
	case "cut":
		return nil, errors.New("EOF")
	case "done":
		if resp, err := next.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
		}
		return nil, errors.New("EOF")
	case "refuse":
		return &http.Response{
			StatusCode: http.StatusServiceUnavailable,
			Header:     http.Header{},
			Body:       http.NoBody,
			Request:    r,
		}, nil
	case "full":
		e := session.Errorf(session.CodeUnavailable, "the disk is full")
		e.Kind = api.KindStore
		status, body := api.EncodeError(e, api.ErrorContext{})
		return &http.Response{
			StatusCode: status,
			Header:     http.Header{},
			Body:       io.NopCloser(bytes.NewReader(body)),
			Request:    r,
		}, nil
	default:
		return next.RoundTrip(r)
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *shell) against(h cli.Host, args ...string) *typed {
	out := &typed{}
	out.code = Run(context.Background(), h, cli.Process{
		Args: args, Stdin: strings.NewReader(""), Stdout: &watchedWriter{&out.stdout, s.onOut},
		Stderr: &watchedWriter{&out.stderr, s.onOut}, Dir: "/work", Signals: s.signals,
		Env: func(name string) string { return map[string]string{"LANG": "C.UTF-8"}[name] },
	})
	return out
}

// TestOwnersComeAndGo: whatever a command does, an owner that leaves before its answer is no failure.
func TestOwnersComeAndGo(t *testing.T) {
	commands := []string{
		"session list", "session show last", "session rename last New", "session archive last --undo", "stats", "models",
		"events last", "permission list", "inbox list last", "session delete last --yes", "run hi",
	}
	for _, how := range []string{"dial", "cut", "done", "refuse"} {
		for _, args := range commands {
			if how != "dial" && how != "refuse" && args == "run hi" {
				continue // TestLostConnection
			}
			t.Run(how+" "+args, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sh := &shell{world: newWorld(t, hello)}
					if o := sh.run("run", "hi"); o.code != 0 {
						t.Fatal(o.stderr.String())
					}
					if strings.HasSuffix(args, "--undo") {
						if o := sh.run("session", "archive", "last"); o.code != 0 {
							t.Fatal(o.stderr.String())
						}
					}
					asked := map[int]int{}
					h := &comings{world: sh.world, answer: func(n int, _ string) string {
						if asked[n]++; n < 6 && asked[n] > n/3 { // some answer a request or two before they leave
							return how
						}
						return ""
					}}
					if o := sh.against(h, strings.Fields(args)...); o.code != 0 || h.opens < 2 {
						t.Errorf("exit %d after %d connections: %s", o.code, h.opens, o.stderr.String())
					}
				})
			})
		}
	}
}

// TestOwnerCannot: an owner that says that its data must be mended is not asked again.
func TestOwnerCannot(t *testing.T) {
	for _, args := range []string{
		"session list", "session show last", "session rename last New", "stats", "run hi",
		"run -c hi",
	} {
		synctest.Test(t, func(t *testing.T) {
			sh := &shell{world: newWorld(t, hello)}
			start := time.Now()
			h := &comings{world: sh.world, answer: func(int, string) string { return "full" }}
			o := sh.against(h, strings.Fields(args)...)
			if took := time.Since(start); o.code != 1 || h.opens != 1 || took > 0 {
				t.Errorf("%s: exit %d after %d connections and %s", args, o.code, h.opens, took)
			}
			if !strings.Contains(o.stderr.String(), "the disk is full") {
				t.Errorf("%s: %s", args, o.stderr.String())
			}
		})
	}
}

// TestNobodyComes: patience ends, and a request that may have been heard is not said twice unless that is harmless.
func TestNobodyComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{world: newWorld(t, hello)}
		start := time.Now()
		h := &comings{world: sh.world, answer: func(int, string) string { return "dial" }}
		if o := sh.against(h, "session", "list"); o.code != 1 || time.Since(start) > 2*follow.ReconnectTimeout {
			t.Errorf("exit %d after %s: %s", o.code, time.Since(start), o.stderr.String())
		}
		tells := 0
		h = &comings{world: sh.world, answer: func(int, string) string { tells++; return "cut" }}
		inv := cli.NewInvocation(h, cli.Process{Dir: "/work", Env: func(string) string { return "" }})
		err := inv.WithClient(t.Context(), func(ctx context.Context, c *api.Client) error {
			_, err := c.Create(ctx, api.CreateSession{})
			return err
		})
		if err == nil || tells != 1 {
			t.Errorf("a request that may have been done was sent %d times, want 1, and failed with %v", tells, err)
		}
	})
}

// TestOwnerIsLong: a run that reached an owner once waits for the next one also when opening fails at first.
func TestOwnerIsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{world: newWorld(t, hello)}
		h := &comings{
			world: sh.world,
			open: func(n int) error {
				if n == 2 || n == 3 {
					return session.Errorf(session.CodeUnavailable, "the owner does not answer yet")
				}
				return nil
			},
			answer: func(n int, _ string) string { return map[int]string{1: "dial"}[n] },
		}
		if o := sh.against(h, "run", "hi"); o.code != 0 || h.opens != 4 {
			t.Errorf("exit %d after %d connections: %s", o.code, h.opens, o.stderr.String())
		}
	})
}

// TestOthersWork: a command that is done says why it does not end, once, and a signal ends it soon. It speaks of sessions
// at work only if there is one.
func TestOthersWork(t *testing.T) {
	for _, args := range [][]string{{"run", "hi"}, {"run", "--format=json", "hi"}, {"session", "list"}, {"mcp", "list"}} {
		idle, want := args[0] == "mcp", 1
		if idle {
			want = 0
		}
		synctest.Test(t, func(t *testing.T) {
			sh := &shell{world: newWorld(t, hello), signals: make(chan os.Signal, 1)}
			wait := func(ctx context.Context) error { <-ctx.Done(); return nil }
			h := &comings{world: sh.world, idle: idle, close: wait}
			start := time.Now()
			time.AfterFunc(5*time.Second, func() { sh.signals <- os.Interrupt })
			o := sh.against(h, args...)
			if took := time.Since(start); took > 5*time.Second+300*time.Millisecond || o.code != 0 {
				t.Errorf("%v: exit %d after %s", args, o.code, took)
			}
			if n := strings.Count(o.stderr.String(), "this process waits up to 30s for sessions"); n != want {
				t.Errorf("%v: said %d times: %s", args, n, o.stderr.String())
			}
		})
	}
}

// TestSignalLeavesOthers: after Ctrl-C the work of others does not hold the process.
func TestSignalLeavesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{
			world:   newWorld(t, `{"turns":[{"steps":[{"reasoning":"Let me think."},{"delay":"1h"}]}]}`),
			signals: make(chan os.Signal, 1),
		}
		sent := time.Time{}
		sh.onOut = func(string) {
			if sent.IsZero() {
				sent = time.Now()
				sh.signals <- os.Interrupt
			}
		}
		h := &comings{world: sh.world, close: func(ctx context.Context) error { <-ctx.Done(); return nil }}
		o := sh.against(h, "run", "--thinking", "hi")
		if took := time.Since(sent); o.code != int(cli.ExitInterrupted) ||
			took > 300*time.Millisecond+100*time.Millisecond {
			t.Errorf("exit %d after %s: %s", o.code, took, o.stderr.String())
		}
		if strings.Contains(o.stderr.String(), "another terminal") {
			t.Error(o.stderr.String())
		}
	})
}
