package v1_test

import (
	"net/http"
	"strings"
	"testing"
)

// MCP servers are listed, added, connected and disconnected; what cannot be started says why.
func TestMCPOperations(t *testing.T) {
	w := newWorld(t, `, "mcp": {"demo": {"type": "local", "command": ["no-such-program"]},
  "off": {"type": "remote", "url": "https://mcp.example", "enabled": false}}`, nil)
	const failed = `{"status":"failed","error":"no-such-program cannot be run: executable file not found in $PATH"}`
	const listed = `"demo":` + failed + `,"off":{"status":"disabled"}`
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{http.MethodGet, "/mcp", "", 200, `{` + listed + `}`},
		{
			http.MethodPost, "/mcp", `{"name":"two","config":{"type":"local","command":["no-such-program"]}}`, 200,
			`{` + listed + `,"two":` + failed + `}`,
		},
		{http.MethodPost, "/mcp/two/disconnect", "", 200, `true`},
		{http.MethodGet, "/mcp", "", 200, `{` + listed + `,"two":{"status":"disabled"}}`},
		{http.MethodPost, "/mcp/two/connect", "", 200, `true`},
		{http.MethodPost, "/mcp/none/connect", "", 404, `{"_tag":"McpServerNotFoundError","name":"none","message":"MCP server not found: none"}`},
		{http.MethodPost, "/mcp/demo/auth", "", 400, `{"error":"MCP server demo does not support OAuth"}`},
		{http.MethodDelete, "/mcp/demo/auth", "", 200, `{"success":true}`},
		{http.MethodGet, "/experimental/resource", "", 200, `{}`},
	} {
		if a := w.ask(t, c.method, c.path, c.body); a.status != c.status || a.body != c.want {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, a.status, a.body, c.want)
		}
	}
}

// What is not built refuses requests.
func TestNotBuilt(t *testing.T) {
	w := newWorld(t, "", nil)
	if a := w.ask(t, http.MethodPost, "/sync/replay", `{}`); a.status != 400 ||
		!strings.Contains(a.body, `{"name":"NotImplementedError"`) {
		t.Error(a)
	}
	// A request that lacks what OpenCode requires is refused, although nothing would come of a whole one.
	for _, c := range [][3]string{
		{http.MethodPost, "/mcp", `{"name":"x"}`},
		{http.MethodPost, "/mcp", `{"config":{"type":"local","command":["x"]}}`},
		{http.MethodPost, "/experimental/workspace/warp", `{}`},
		{http.MethodGet, "/find/symbol", ``},
	} {
		if a := w.ask(t, c[0], c[1], c[2]); a.status != http.StatusBadRequest {
			t.Errorf("%s %s %s: %d %s", c[0], c[1], c[2], a.status, a.body)
		}
	}
}
