package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

func TestConnectOverEachTransport(t *testing.T) {
	t.Parallel()
	s := newGoodServer()
	sse := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)
	get := func(*http.Request) *sdk.Server { return s }
	jsonOnly := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{JSONResponse: true})
	stateless := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true})
	for name, c := range map[string]config.MCP{
		"stdio": local("good"), "http": serveHTTP(t, s), "sse": serveHandler(t, sse), "json": serveHandler(t, jsonOnly),
		"stateless": serveHandler(t, stateless), "greeting": local("greeting"), "strict": local("strict"),
		"modern": local("modern"), "errors": local("flood-errors"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": c})
			w.connect("one")
			if got := w.text("one_echo", `{"text":"hi"}`); got != "echo hi" && got != "done" {
				t.Errorf("the tool said %q", got)
			}
		})
	}
}

// A turn gets what the servers offered at its boundary.
func TestToolsJoinAtSync(t *testing.T) {
	t.Parallel()
	s := newGoodServer()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"b": serveHTTP(t, s), "a": serveHTTP(t, newGoodServer())})
	w.awaitStatus("a", mcp.Connected)
	w.awaitStatus("b", mcp.Connected)
	if got := w.names(""); len(got) != 0 {
		t.Fatalf("before Sync there are %v", got)
	}
	w.tools.Sync()
	first := w.registry.TakeSnapshot(nil)
	if !slices.Contains(w.names("b_"), "b_echo") || !slices.Contains(w.names(""), "read_mcp_resource") {
		t.Fatalf("the tools are %v", w.names(""))
	}
	// The server adds one. Tools that stay keep their registration: calls of an earlier turn run.
	addTool(s, "added", func(context.Context, *sdk.CallToolRequest) (string, error) { return "new", nil })
	s.RemoveTools("image")
	w.await("b", func(st mcp.State) bool {
		return slices.ContainsFunc(st.Tools, func(i mcp.ToolInfo) bool { return i.Name == "b_added" }) &&
			!slices.ContainsFunc(st.Tools, func(i mcp.ToolInfo) bool { return i.Name == "b_image" })
	})
	if slices.Contains(w.names(""), "b_added") || !slices.Contains(w.names(""), "b_image") {
		t.Error("the change took effect before Sync")
	}
	w.tools.Sync()
	if !slices.Contains(w.names(""), "b_added") || slices.Contains(w.names(""), "b_image") {
		t.Errorf("after Sync the tools are %v", w.names("b_"))
	}
	allow := func(context.Context, tool.Request) error { return nil }
	done := first.Settle(t.Context(), tool.Call{Name: "b_echo", Input: jsontext.Value(`{"text":"x"}`), Ask: allow})
	if done.Error != nil {
		t.Errorf("a call of a tool that stayed: %v", done.Error)
	}
	if !slices.IsSorted(w.names("")) {
		t.Errorf("the order is %v", w.names(""))
	}
}

func TestCallDiesWithTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("die-once", t.TempDir()+"/died")})
	w.connect("one")
	wantText(t, w.failure("one_echo", `{}`), "The MCP server one failed")
	w.tools.Sync() // the tools stay while it is started again
	if got := w.text("one_echo", `{}`); got != "again" {
		t.Errorf("the next call said %q", got)
	}
}

// A call of a server that cannot be started again fails after one attempt, and says why.
func TestCallOfADeadServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("die", t.TempDir()+"/died")})
	w.connect("one")
	wantText(t, w.failure("one_echo", `{}`), "The MCP server one failed")
	wantText(t, w.failure("one_echo", `{}`), "the MCP server one is not connected (failed: ", "exit code 6")
}

func TestReconnectAndDisconnect(t *testing.T) {
	t.Parallel()
	no := false
	off := serveHTTP(t, newGoodServer())
	off.Enabled = &no
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"on": serveHTTP(t, newGoodServer()), "off": off})
	w.connect("on")
	w.awaitStatus("off", mcp.Disabled)
	if err := w.set.Connect(t.Context(), "off"); err != nil || w.state("off").Status != mcp.Connected {
		t.Errorf("a disabled server is %+v after Connect", w.state("off"))
	}
	if err := w.set.Disconnect("on"); err != nil || w.state("on").Status != mcp.Disabled {
		t.Errorf("after Disconnect it is %+v", w.state("on"))
	}
	wantText(t, w.failure("on_echo", `{}`), "not connected (disabled)")
	w.tools.Sync()
	if got := w.names("on_"); len(got) != 0 {
		t.Errorf("a disconnected server has the tools %v", got)
	}
	if got := w.names("off_"); len(got) == 0 {
		t.Error("the server that a person connected has no tools")
	}
	if w.set.Connect(t.Context(), "none") == nil || w.set.Disconnect("none") == nil {
		t.Error("a server that does not exist was connected")
	}
}

// A change of the configuration leaves servers alone that it does not concern.
func TestConfigurationChange(t *testing.T) {
	t.Parallel()
	kept, gone := local("environment"), local("good")
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"kept": kept, "gone": gone, "same": local("environment")})
	for _, n := range []string{"kept", "gone", "same"} {
		w.connect(n)
	}
	before := w.text("kept_echo", `{}`) // has a mark that each process gets anew
	changed := local("environment")
	changed.Environment = map[string]string{"ADDED": "yes"}
	w.open(map[string]config.MCP{"kept": local("environment"), "same": changed, "new": local("good")})
	w.connect("new")
	w.connect("same")
	if got := w.text("kept_echo", `{}`); got != before {
		t.Error("a server whose configuration is the same was started again")
	}
	wantText(t, w.text("same_echo", `{}`), "ADDED=yes")
	if got := w.names("gone_"); len(got) != 0 {
		t.Errorf("a removed server has the tools %v", got)
	}
	if got := w.state("gone"); got.Name != "" {
		t.Errorf("a removed server is %+v", got)
	}
}

func TestUntrustedAndRequiredServers(t *testing.T) {
	t.Parallel()
	wait := serveHTTP(t, newGoodServer())
	wait.Wait = true
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"needed": wait, "slow": local("silent")})
	w.set.AwaitRequired(t.Context())
	if got := w.state("needed").Status; got != mcp.Connected {
		t.Errorf("after AwaitRequired it is %s", got)
	}
	set := w.pool.Open(mcp.Location{Directory: t.TempDir(), Untrusted: []string{"evil"}})
	set.Start()
	states := set.States()
	if len(states) != 1 || states[0].Status != mcp.Untrusted || states[0].Error == "" {
		t.Errorf("the states are %+v", states)
	}
	// A request for it says what it waits for.
	err := set.Connect(t.Context(), "evil")
	refused, ok := errors.AsType[*session.Error](err)
	if !ok || refused.Reason != mcp.ReasonUntrusted || !strings.Contains(refused.Message, "cairn trust") {
		t.Errorf("to connect a server that waits for trust: %v", err)
	}
}

// An added server is there when the location is opened again, also after its servers were closed, until it is removed.
// Tools of a registry that was made before do not appear: its permission rules do not name them.
func TestAddedServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{})
	late := serveHTTP(t, newGoodServer())
	add := func(c config.MCP, wantChange bool) {
		t.Helper()
		if isChanged, err := w.set.Add("late", c); err != nil || isChanged != wantChange {
			t.Fatalf("it is changed: %v, %v", isChanged, err)
		}
	}
	add(late, true)
	if got := w.state("late"); got.Name != "" {
		t.Errorf("before the location is opened again it is %+v", got)
	}
	w.open(nil)
	w.set.Await(t.Context(), "late")
	if got := w.state("late").Status; got != mcp.Connected {
		t.Fatalf("after Add it is %s", got)
	}
	add(late, false)
	other := late
	other.Timeout++
	add(other, true)
	add(late, false)
	if w.tools.Sync(); len(w.names("late_")) != 0 {
		t.Errorf("the old registry has the tools %v", w.names("late_"))
	}
	mcp.NewTools(w.set, w.registry).Sync()
	if len(w.names("late_")) == 0 {
		t.Error("the new registry has no tools of the server")
	}
	w.pool.CloseLocation(w.dir)
	w.open(nil)
	w.set.Await(t.Context(), "late")
	if got := w.state("late").Status; got != mcp.Connected {
		t.Errorf("after the location was closed it is %s", got)
	}
	if !w.set.Remove("late") || w.set.Remove("late") {
		t.Error("it was not removed once")
	}
	w.open(nil)
	if got := w.state("late"); got.Name != "" {
		t.Errorf("after Remove it is %+v", got)
	}
}

func TestAddRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, nil)
	for field, c := range map[string]config.MCP{
		"config.type": {}, "config.command": {Type: "local"}, "config.url": {Type: "remote"},
	} {
		_, err := w.set.Add("one", c)
		if e, ok := errors.AsType[*session.Error](err); !ok || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Nothing starts in a location that was closed.
func TestClosedLocationStartsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": serveHTTP(t, newGoodServer())})
	w.awaitStatus("one", mcp.Connected)
	closed := w.set
	w.pool.CloseLocation(w.dir)
	_ = closed.Connect(t.Context(), "one")
	closed.Start()
	closed.AwaitAll(t.Context())
	if got := closed.States()[0]; got.Status == mcp.Connected && len(got.Tools) > 0 {
		t.Errorf("after the close it is %+v", got)
	}
	w.pool.Close()
	w.open(map[string]config.MCP{"one": serveHTTP(t, newGoodServer())})
	if w.set.Start(); len(w.set.States()) != 0 {
		t.Errorf("after the close of the pool there are %+v", w.set.States())
	}
}

// Connects, disconnects and closes at the same time leave one process at most, which the last close ends.
func TestConcurrentLifecycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": serveHTTP(t, newGoodServer())})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _ = w.set.Connect(t.Context(), "one") }) // the last state counts
		all.Go(func() { _ = w.set.Disconnect("one") })
	}
	all.Wait()
	err := w.set.Connect(t.Context(), "one")
	if got := w.state("one"); err != nil || got.Status != mcp.Connected || len(got.Tools) == 0 {
		t.Errorf("it is %+v, %v", got, err)
	}
	if err := w.set.Disconnect("one"); err != nil {
		t.Error(err)
	}
	if got := w.state("one"); got.Status != mcp.Disabled || len(got.Tools) > 0 {
		t.Errorf("after Disconnect it is %+v", got)
	}
}

// A server gets the usual variables, those of its configuration and the mark of tools, and no keys.
func TestEnvironmentOfAServer(t *testing.T) {
	t.Setenv("MCP_TEST_DENIED", "key")
	t.Setenv("MCP_TEST_OTHER", "key")
	c := local("environment")
	c.Environment = map[string]string{"MCP_TEST_SET": "yes", "MCP_TEST_DENIED": "by the configuration"}
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": c})
	w.connect("one")
	got := strings.Split(w.text("one_echo", `{}`), "\n")
	names := map[string]string{}
	for _, kv := range got {
		name, value, _ := strings.Cut(kv, "=")
		names[name] = value
	}
	if names["MCP_TEST_SET"] != "yes" || names[tool.CallVariable] == "" || names["PATH"] == "" {
		t.Errorf("the server got %v", got)
	}
	if _, ok := names["MCP_TEST_OTHER"]; ok {
		t.Error("a variable of cairn's environment reached the server")
	}
	if names["MCP_TEST_DENIED"] != "by the configuration" {
		t.Error("a variable that the configuration sets did not reach the server")
	}
}

func TestNamesOfTools(t *testing.T) {
	t.Parallel()
	list := func(names ...string) string {
		var tools []map[string]any
		for _, n := range names {
			tools = append(tools, map[string]any{"name": n, "inputSchema": map[string]any{"type": "object"}})
		}
		return mustJSON(map[string]any{"tools": tools})
	}
	long := strings.Repeat("x", 100)
	for server, test := range map[string]struct {
		names []string
		want  []string
	}{
		"my server":    {[]string{"get.user"}, []string{"my_server_get_user"}},
		"esc":          {[]string{"a\x1b[31mb\n", "ok"}, []string{"esc_a__31mb_", "esc_ok"}},
		"twice":        {[]string{"a.b", "a_b"}, []string{"twice_a_b"}},
		"1st":          {[]string{"a"}, []string{"mcp_1st_a"}},
		"Long_" + long: {[]string{"a", long}, nil},
		"1-" + long:    {[]string{long}, nil},
		"ünï":          {[]string{"é"}, []string{"mcp_n___"}},
		"long": {
			[]string{long, long + "y"},
			[]string{"long_" + long[:50] + "_0d9cdc58", "long_" + long[:50] + "_58a53014"},
		},
	} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, t.TempDir(), "list", list(test.names...))
			w := newWorld(t, mcp.Options{}, map[string]config.MCP{server: local("lists", path)})
			w.connect(server)
			names := w.names("")
			if diff := cmp.Diff(test.want, names); test.want != nil && diff != "" || len(names) == 0 {
				t.Errorf("the names (-want +got):\n%s", diff)
			}
			for _, n := range names { // the permission rules of the server name all of them
				if pattern := w.set.Actions()[0]; !permission.Match(pattern, n) || len(n) > 64 {
					t.Errorf("the pattern %s does not match %s", pattern, n)
				}
			}
		})
	}
}

// Two servers whose names are the same for models: the tools of the first count.
func TestCollisionOfServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"a.b": local("environment"), "a_b": local("good")})
	w.awaitStatus("a.b", mcp.Connected)
	w.connect("a_b")
	wantText(t, w.text("a_b_echo", `{}`), "PATH=")
	if !slices.Contains(w.names("a_b"), "a_b_link") {
		t.Errorf("the tools are %v", w.names("a_b"))
	}
}
