package sdk_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/accesstoken"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

// proxy forwards the requests of a network client to the socket of a store, and can lose answers.
type proxy struct {
	forward *httputil.ReverseProxy

	mu   sync.Mutex     // guards the rest
	lose map[string]int // how many answers to a POST are lost, by the last element of the path
	seen map[string]int // how many requests came, by method and path
}

// dialProxy returns a client of the store of the home that is connected by a proxy.
func dialProxy(t *testing.T, home string, lose map[string]int) (*sdk.Client, *proxy) {
	t.Helper()
	var dialer net.Dialer
	p := &proxy{lose: lose, seen: map[string]int{}, forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "localhost", "localhost"
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", findSocket(t, home))
		}},
		FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	client, err := sdk.Dial(t.Context(), server.URL, &sdk.DialOptions{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // never fails
	return client, p
}

// findSocket returns the socket of the store of a home.
func findSocket(t *testing.T, home string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(home, "data", "*.sock"))
	if err != nil || len(names) != 1 {
		t.Fatalf("the sockets are %q, %v", names, err)
	}
	return names[0]
}

// ServeHTTP forwards a request. An answer that is lost was given: the server has done what was asked.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	p.mu.Lock()
	p.seen[r.Method+" "+r.URL.Path]++
	isLost := r.Method == http.MethodPost && p.lose[name] > 0
	if isLost {
		p.lose[name]--
	}
	p.mu.Unlock()
	if !isLost {
		p.forward.ServeHTTP(w, r)
		return
	}
	p.forward.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

func (p *proxy) count(request string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[request]
}

// A session and a prompt are made once, although the answers to their requests are lost.
func TestLostAnswers(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	model := cairntest.NewModel(cairntest.Turn(cairntest.Text("One.")), cairntest.Turn(cairntest.Text("Two.")))
	cairntest.Open(t, &embed.Options{Home: home, Models: []embed.Model{model.Model()}})
	client, _ := dialProxy(t, home, map[string]int{"session": 1, "prompt": 1})
	s := newSession(t, client)
	if r, err := s.Do(t.Context(), sdk.Prompt{Text: "one"}); err != nil || r.Text != "One." {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := s.Prompt(t.Context(), sdk.Prompt{Text: "two"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	sessions := 0
	for _, err := range client.Sessions(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		sessions++
	}
	if n := len(model.Requests()); sessions != 1 || n != 2 || countMessages(t, s) != 4 {
		t.Errorf("%d sessions, %d requests, %d messages", sessions, n, countMessages(t, s))
	}
}

// A call whose request is repeated ends with its context.
func TestLostServer(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	cairntest.Open(t, &embed.Options{Home: home})
	client, p := dialProxy(t, home, nil)
	s := newSession(t, client)
	p.mu.Lock()
	p.lose = map[string]int{"prompt": 1 << 20}
	p.mu.Unlock()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends with the first request
		for p.count("POST /api/session/"+s.ID()+"/prompt") == 0 {
			select {
			case <-t.Context().Done():
				return
			default:
			}
		}
		cancel(cause)
	}()
	if _, err := s.Prompt(ctx, sdk.Prompt{Text: "one"}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// Do, which returns no live progress, holds no stream of it: a server allows a client few streams.
func TestDoReadsNoFeed(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	model := cairntest.NewModel(cairntest.Turn(cairntest.Text("One.")))
	cairntest.Open(t, &embed.Options{Home: home, Models: []embed.Model{model.Model()}})
	client, p := dialProxy(t, home, nil)
	if _, err := newSession(t, client).Do(t.Context(), sdk.Prompt{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	if n := p.count("GET /api/event"); n != 0 {
		t.Errorf("%d streams of all sessions", n)
	}
}

// A program with a token has the rights of the token, also at the socket, where the server knows its user.
func TestTokenAtSocket(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	cairntest.Open(t, &embed.Options{Home: home})
	_, token, err := accesstoken.New(filepath.Join(home, "data")).Create(t.Context(), caller.Read, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"", "unix://" + findSocket(t, home)} {
		for name, c := range map[string]struct {
			options sdk.DialOptions
			denied  bool
		}{
			"none":           {sdk.DialOptions{}, false},
			"a token":        {sdk.DialOptions{Token: token}, true},
			"a wrong token":  {sdk.DialOptions{Token: "x"}, true},
			"not a password": {sdk.DialOptions{Password: "x"}, true},
		} {
			t.Run(name, func(t *testing.T) {
				c.options.Home, c.options.Directory = home, t.TempDir()
				client, err := sdk.Dial(t.Context(), address, &c.options)
				if err == nil {
					defer client.Close()
					_, err = client.CreateSession(t.Context(), nil)
				}
				if c.denied != hasCode(err, sdk.CodeDenied) || !c.denied && err != nil {
					t.Errorf("at %q: %v", address, err)
				}
			})
		}
	}
}

// A context that has ended before Dial is returned as its cause, also where a socket is dialed.
func TestDialEndedContext(t *testing.T) {
	home := t.TempDir()
	cairntest.Open(t, &embed.Options{Home: home})
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := sdk.Dial(ctx, "", &sdk.DialOptions{Home: home}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}
