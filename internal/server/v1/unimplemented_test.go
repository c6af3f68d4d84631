package v1_test

import (
	"net/http"
	"strings"
	"testing"
)

// What is configured and not built is shown as not working: MCP servers have failed, sharing is disabled.
func TestConfiguredButNotBuilt(t *testing.T) {
	w := newWorld(t, `, "share": "auto", "mcp": {
  "demo": {"type": "local", "command": ["demo"]}, "off": {"type": "remote", "url": "https://mcp.example", "enabled": false}}`, nil)
	failed := `{"status":"failed","error":"cairn does not connect to MCP servers yet"}`
	want := `{"demo":` + failed + `,"off":{"status":"disabled"}}`
	if a := w.ask(t, http.MethodGet, "/mcp", ""); a.status != 200 || a.body != want {
		t.Errorf("%d %s, want %s", a.status, a.body, want)
	}
	added := `{"name":"two","config":{"type":"local","command":["two"]}}`
	if a := w.ask(t, http.MethodPost, "/mcp", added); !strings.HasPrefix(a.body, strings.TrimSuffix(want, "}")) ||
		!strings.Contains(a.body, `"two":`+failed) {
		t.Error(a)
	}
	for name, status := range map[string]int{"demo": 400, "none": 404} {
		if a := w.ask(t, http.MethodPost, "/mcp/"+name+"/connect", ""); a.status != status ||
			strings.Contains(a.body, `{"name":"NotImplementedError"`) != (status == 400) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
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
	if a := w.ask(t, http.MethodGet, "/config", ""); !strings.Contains(a.body, `"share":"disabled"`) {
		t.Error(a.body)
	}
}
