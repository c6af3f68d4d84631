package server_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
	templates "github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/server"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/test/storetest"
	"github.com/cairn-dev/cairn/internal/tool"
)

const secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// house is a running server on a store in memory.
type house struct {
	*server.Server
	store  *storetest.Memory
	log    *eventlog.Log
	engine *engine.Engine
	terms  *pty.Terminals
	url    string
	host   string
	socket string
}

// start runs a server on TCP, and on a socket, until the test ends.
func start(t testing.TB, c server.Config) *house {
	t.Helper()
	h := &house{store: storetest.NewMemory(), socket: filepath.Join(t.TempDir(), "s.sock")}
	ids := &session.IDs{}
	h.log = eventlog.New(eventlog.Config{Store: h.store, IDs: ids})
	h.engine = engine.New(engine.Config{Store: h.store, Log: h.log, IDs: ids, Locations: nowhere{}})
	h.terms = pty.New(ids, func(pty.Change) {})
	t.Cleanup(h.terms.Close)
	c.V1 = v1.New(
		v1.Config{
			Commands:  h.engine.Commands,
			Asks:      h.engine.Asks,
			Runs:      h.engine,
			Store:     h.store,
			Log:       h.log,
			IDs:       ids,
			Terminals: h.terms,
			Backend:   unchecked{},
			Directory: "/work",
			Version:   "test",
		},
	)
	c.V2 = v2.New(
		v2.Config{
			Commands:  h.engine.Commands,
			Inbox:     h.engine.Commands,
			Reverts:   h.engine.Commands,
			Asks:      h.engine.Asks,
			Runs:      h.engine,
			Jobs:      h.engine.Jobs,
			Store:     h.store,
			Log:       h.log,
			IDs:       ids,
			Locations: nowhere{},
			Directory: "/work",
		},
	)
	c.Secret, c.TCP, c.Socket = secret, true, h.socket
	c.Listener = newListener(t, cmp.Or(c.Hostname, "127.0.0.1"))
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	serve(t, s)
	h.Server, h.url = s, s.URL()
	h.host = strings.TrimPrefix(h.url, "http://")
	return h
}

// serve runs the server until the test ends.
func serve(t testing.TB, s *server.Server) {
	t.Helper()
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// newListener returns a listener on a port that no other process has. A server that picks its port itself tries
// server.DefaultPort first.
func newListener(t testing.TB, host string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// unchecked is a V1 backend without checkouts.
type unchecked struct{ v1.Backend }

func (unchecked) Head(string) string { return "" }

// nowhere is a place with one agent and no model.
type nowhere struct{}

func (nowhere) Servers(context.Context, session.Location) (*mcp.Set, error) {
	return mcp.NewPool(mcp.Options{}).Open(mcp.Location{}), nil
}

func (nowhere) ForgetLocation(session.Location) {}

// Chain implements scope.Scopes.
func (nowhere) Chain(context.Context, session.Location) *extension.Chain { return nil }

func (nowhere) FindMoved(context.Context, *session.Session, *scope.Scope) (string, error) {
	return "", nil
}

func (nowhere) Scope(_ context.Context, l session.Location) (*scope.Scope, func(), error) {
	return &scope.Scope{
		Location: l, ProjectID: "global", RecordID: "prj_test", DefaultAgent: "build", Models: nowhere{}, Tools: tool.NewRegistry(tool.Config{}),
		Agents:  map[string]session.Agent{"build": {ID: "build", Mode: session.ModePrimary}},
		Context: func(context.Context, scope.ContextInput) (systemcontext.Context, error) { return nil, nil },
	}, func() {}, nil
}

func (nowhere) Resolve(ref session.ModelRef, _ session.Agent) (*scope.Model, error) {
	return nil, session.NotFound("model", ref.String())
}

func (nowhere) Default() (session.ModelRef, error) {
	return session.ModelRef{}, session.Errorf(session.CodeInvalid, "there is no model here")
}

func (nowhere) Location(_ context.Context, l session.Location) (api.LocationInfo, error) {
	return api.LocationInfo{Directory: l.Directory, Project: api.Project{ID: "global", Directory: "/"}}, nil
}

func (nowhere) Plugins(context.Context, session.Location) ([]api.Plugin, error) { return nil, nil }

func (nowhere) Skills(context.Context, session.Location) ([]api.Skill, error) { return nil, nil }

func (nowhere) Commands(context.Context, session.Location) ([]api.Command, error) { return nil, nil }

func (nowhere) Expand(context.Context, session.Location, api.ExpandRequest, templates.Permit) (api.Expansion, error) {
	return api.Expansion{}, nil
}

func (nowhere) Agents(context.Context, session.Location) ([]session.Agent, error) { return nil, nil }

func (nowhere) Models(context.Context, session.Location) ([]api.Model, error) { return nil, nil }

func (nowhere) Providers(context.Context, session.Location) ([]api.Provider, error) { return nil, nil }

// ask makes a request over TCP and returns the status and the body.
func (h *house) ask(t testing.TB, method, path string, change func(*http.Request)) (int, string) {
	t.Helper()
	var body io.Reader
	if method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(t.Context(), method, h.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(req)
	}
	return send(t, http.DefaultTransport, req)
}

func send(t testing.TB, rt http.RoundTripper, req *http.Request) (int, string) {
	t.Helper()
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		return resp.StatusCode, ""
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func bearer(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }

// rawAnswer sends bytes as they are and returns the status line.
func (h *house) rawAnswer(t testing.TB, request string) string {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", h.host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprint(c, request); err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(c) // the server closes
	line, _, _ := strings.Cut(string(b), "\r\n")
	return line
}

func TestTheSameClientOverEveryWay(t *testing.T) {
	h := start(t, server.Config{})
	socket := &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", h.socket)
		}},
	}
	defer socket.CloseIdleConnections()
	for name, c := range map[string]*api.Client{
		"secret": {Base: h.url, Auth: api.Auth{Secret: secret}},
		"socket": {HTTP: socket, Base: "http://localhost"},
		"local":  {HTTP: &http.Client{Transport: api.Local(h.NewLocalHandler())}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := c.Create(t.Context(), api.CreateSession{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Prompt(t.Context(), s.ID,
				api.PromptRequest{Prompt: &session.Prompt{Text: "hi"}, Resume: new(false)}); err != nil {
				t.Fatal(err)
			}
			n := 0
			for u, err := range c.Follow(t.Context(), s.ID, -1) {
				if err != nil {
					t.Fatal(err)
				}
				if u.Event != nil {
					n++
				}
				if n == 2 {
					break
				}
			}
		})
	}
}

func TestANetworkAddressNeedsAPassword(t *testing.T) {
	for _, host := range []string{"0.0.0.0", "::", "192.168.1.7", "example.com"} {
		_, err := server.New(server.Config{V2: v2.New(v2.Config{}), Secret: secret, TCP: true, Hostname: host})
		if err == nil || !strings.Contains(err.Error(), "password") {
			t.Errorf("%s: got %v", host, err)
		}
	}
	if _, err := server.New(server.Config{
		V1: v1.New(v1.Config{}), V2: v2.New(v2.Config{}), Secret: secret, TCP: true, Hostname: "0.0.0.0", Password: "x",
	}); err != nil {
		t.Error(err)
	}
}

func TestMain(m *testing.M) {
	if runChild() || runEvader() {
		return
	}
	m.Run()
}

func TestSocketIsPrivate(t *testing.T) {
	h := start(t, server.Config{})
	info, err := os.Stat(h.socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
}
