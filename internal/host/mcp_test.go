package host

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// A request for an MCP server that waits for trust says so and how to give it, in both contracts. Only a server that no
// file configures is not found.
func TestUntrustedMCPServerIsNamed(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	write(t, filepath.Join(o.Dir, "cairn.json"), `{"mcp": {"theirs": {"type": "remote", "url": "http://127.0.0.1:1/"}}}`)
	c := open(t, o)
	defer closeIt(t, c)
	if err := c.API.CallV1(t.Context(), http.MethodGet, "/mcp", nil, nil); err != nil {
		t.Fatal(err)
	}
	// requests returns the errors of all requests for one server.
	requests := func(name string) map[string]error {
		out := map[string]error{
			"V2 connect":    c.API.ConnectMCP(t.Context(), name, true),
			"V2 disconnect": c.API.ConnectMCP(t.Context(), name, false),
		}
		_, out["V2 call"] = c.API.CallMCP(t.Context(), name, api.MCPCall{Tool: "x"})
		for _, action := range []string{"connect", "disconnect", "auth", "auth/authenticate"} {
			out["V1 "+action] = c.API.CallV1(t.Context(), http.MethodPost, "/mcp/"+name+"/"+action, nil, nil)
		}
		out["V1 DELETE auth"] = c.API.CallV1(t.Context(), http.MethodDelete, "/mcp/"+name+"/auth", nil, nil)
		return out
	}
	for what, err := range requests("theirs") {
		if err == nil || !strings.Contains(err.Error(), "theirs waits for trust") ||
			!strings.Contains(err.Error(), "cairn trust") || errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			t.Errorf("%s of a server that waits for trust: %v", what, err)
		}
	}
	for what, err := range requests("none") {
		if !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			t.Errorf("%s of a server that does not exist: %v", what, err)
		}
	}
}
