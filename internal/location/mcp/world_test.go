package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// world is a location with servers, and a registry with their tools.
type world struct {
	t        testing.TB
	dir      string
	pool     *mcp.Pool
	set      *mcp.Set
	tools    *mcp.Tools
	registry *tool.Registry
	changed  chan struct{}
}

// newWorld opens a location with the servers and starts them. Fields of o that are not set get usual values.
func newWorld(t testing.TB, o mcp.Options, servers map[string]config.MCP) *world {
	t.Helper()
	return newWorldAt(t, t.TempDir(), o, servers)
}

// newWorldAt is newWorld for a directory.
func newWorldAt(t testing.TB, dir string, o mcp.Options, servers map[string]config.MCP) *world {
	t.Helper()
	w := &world{t: t, dir: dir, registry: tool.NewRegistry(tool.Config{}), changed: make(chan struct{}, 1)}
	o.Version, o.Supervisor = "test", process.SupervisorCommand()
	o.OnChange = func(string, string, bool) {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
	w.pool = mcp.NewPool(o)
	t.Cleanup(w.pool.Close)
	w.open(servers)
	w.tools = mcp.NewTools(w.set, w.registry)
	w.set.Start()
	return w
}

// open configures the servers of the location.
func (w *world) open(servers map[string]config.MCP) {
	w.set = w.pool.Open(mcp.Location{
		Directory: w.dir, Servers: servers, Timeout: time.Minute,
		Environment: process.Environment{Deny: []string{"MCP_TEST_DENIED"}},
	})
}

// local is a server of this program in a mode.
func local(mode string, args ...string) config.MCP {
	self, _ := os.Executable()
	return config.MCP{Type: "local", Command: append([]string{self, serverWord, mode}, args...)}
}

// serveHTTP returns the configuration of a server over streamable HTTP in this process.
func serveHTTP(t testing.TB, s *sdk.Server) config.MCP {
	t.Helper()
	return serveHandler(t, handleStreamable(s))
}

func handleStreamable(s *sdk.Server) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

func serveHandler(t testing.TB, h http.Handler) config.MCP {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return config.MCP{Type: "remote", URL: server.URL}
}

// testTime bounds what a test waits for.
const testTime = time.Minute

// await waits until the state of a server is as wanted, and returns it.
func (w *world) await(name string, ok func(mcp.State) bool) mcp.State {
	w.t.Helper()
	timeout := time.After(testTime)
	for {
		state := w.state(name)
		if ok(state) {
			return state
		}
		select {
		case <-w.changed:
		case <-timeout:
			w.t.Fatalf("the server %s is %+v", name, state)
		}
	}
}

// awaitStatus waits until a server has a status.
func (w *world) awaitStatus(name string, s mcp.Status) mcp.State {
	w.t.Helper()
	return w.await(name, func(state mcp.State) bool { return state.Status == s })
}

// connect waits until a server is connected, and registers its tools.
func (w *world) connect(name string) {
	w.t.Helper()
	w.awaitStatus(name, mcp.Connected)
	w.tools.Sync()
}

func (w *world) state(name string) mcp.State {
	for _, s := range w.set.States() {
		if s.Name == name {
			return s
		}
	}
	return mcp.State{}
}

// names returns the names of the registered tools that begin with a prefix.
func (w *world) names(prefix string) (out []string) {
	for _, d := range w.registry.TakeSnapshot(nil).Definitions() {
		if strings.HasPrefix(d.Name, prefix) {
			out = append(out, d.Name)
		}
	}
	return out
}

// call settles a call of a tool that is registered now, and allows what it asks.
func (w *world) call(name, input string, change ...func(*tool.Call)) tool.Settlement {
	w.t.Helper()
	return w.callIn(w.t.Context(), name, input, change...)
}

func (w *world) callIn(ctx context.Context, name, input string, change ...func(*tool.Call)) tool.Settlement {
	w.t.Helper()
	call := tool.Call{
		Name: name, Input: jsontext.Value(input), CallID: "call",
		Ask: func(context.Context, tool.Request) error { return nil },
	}
	for _, f := range change {
		f(&call)
	}
	return w.registry.TakeSnapshot(nil).Settle(ctx, call)
}

// text returns the text of a call that must succeed.
func (w *world) text(name, input string, change ...func(*tool.Call)) string {
	w.t.Helper()
	s := w.call(name, input, change...)
	if s.Error != nil {
		w.t.Fatalf("%s: %s", name, s.Error.Message)
	}
	return joinContent(s.Output.Content)
}

// failure returns the message of a call that must fail.
func (w *world) failure(name, input string, change ...func(*tool.Call)) string {
	w.t.Helper()
	s := w.call(name, input, change...)
	if s.Error == nil {
		w.t.Fatalf("%s did not fail: %+v", name, s.Output)
	}
	return s.Error.Message
}

func joinContent(list []session.ToolContent) string {
	var texts []string
	for _, c := range list {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

// wantText fails the test unless the text has the parts.
func wantText(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not contain %q", text, p)
		}
	}
}

func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustJSON(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}
