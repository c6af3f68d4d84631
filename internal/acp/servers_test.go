package acp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
)

// A server of the client that fails is named before the first prompt, and again when its state changes later.
func TestServerProblemsAreNamed(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	e.ask("session/new", fmt.Sprintf(
		`{"cwd":%q,"mcpServers":[{"name":"broken","command":"/nonexistent","args":[],"env":[]}]}`, w.dir,
	))
	isNamed := func(words string) func(message) bool {
		return func(m message) bool {
			return m.Method == "session/update" && strings.Contains(string(m.Params), words)
		}
	}
	e.await("the failure", isNamed("the MCP server broken does not work"))
	if err := w.api.In(w.dir).ConnectMCP(t.Context(), "broken", false); err != nil {
		t.Fatal(err)
	}
	e.await("the later state", isNamed("disabled"))
}

// A server is named when its state is another than before, unless it is connected.
func TestNoteServerStates(t *testing.T) {
	s := &liveSession{}
	s.setServers([]v2.MCPServer{{Name: "a"}, {Name: "b"}})
	note := func(a, b string) (titles []string) {
		for _, u := range s.noteServerStates([]api.MCPServer{
			{Name: "a", Status: api.MCPStatus{Status: a}},
			{Name: "b", Status: api.MCPStatus{Status: b}},
			{Name: "of the directory", Status: api.MCPStatus{Status: "failed"}},
		}) {
			titles = append(titles, u.(notice).title)
		}
		return titles
	}
	fails := func(name string) string { return "the MCP server " + name + " does not work, its tools are missing" }
	starts := "the MCP server a is still starting"
	for i, c := range []struct {
		a, b string
		want []string
	}{
		{"pending", "failed", []string{starts, fails("b")}},
		{"pending", "failed", nil},
		{"failed", "failed", []string{fails("a")}},
		{"connected", "needs_auth", []string{fails("b")}},
		{"failed", "needs_auth", []string{fails("a")}},
	} {
		if diff := cmp.Diff(c.want, note(c.a, c.b)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	s.setServers([]v2.MCPServer{{Name: "a"}}) // the session is opened again
	if diff := cmp.Diff([]string{fails("a")}, note("failed", "failed")); diff != "" {
		t.Errorf("opened again (-want +got):\n%s", diff)
	}
}
