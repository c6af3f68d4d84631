package mcp_test

import (
	"fmt"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
)

// BenchmarkCall compares a call over this package with one over the SDK alone: the difference is what cairn adds.
func BenchmarkCall(b *testing.B) {
	c := serveHTTP(b, newGoodServer())
	b.Run("cairn", func(b *testing.B) {
		o := mcp.Options{Approvals: mcp.NewApprovals(b.TempDir() + "/tools.json")}
		w := newWorld(b, o, map[string]config.MCP{"one": c})
		w.connect("one")
		for b.Loop() {
			w.text("one_echo", `{"text":"hi"}`)
		}
	})
	b.Run("sdk", func(b *testing.B) {
		client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
		transport := &sdk.StreamableClientTransport{Endpoint: c.URL, HTTPClient: http.DefaultClient}
		session, err := client.Connect(b.Context(), transport, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = session.Close() }()
		for b.Loop() {
			params := &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hi"}}
			if _, err := session.CallTool(b.Context(), params); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSync is what ten servers with a hundred tools that did not change add to the building of a request.
func BenchmarkSync(b *testing.B) {
	servers := map[string]config.MCP{}
	for i := range 10 {
		s := sdk.NewServer(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
		for j := range 10 {
			addTool(s, fmt.Sprintf("tool%d", j), nil)
		}
		servers[fmt.Sprintf("server%d", i)] = serveHTTP(b, s)
	}
	w := newWorld(b, mcp.Options{Approvals: mcp.NewApprovals(b.TempDir() + "/tools.json")}, servers)
	for name := range servers {
		w.connect(name)
	}
	if got := len(w.names("server")); got != 100 {
		b.Fatalf("there are %d tools", got)
	}
	for b.Loop() {
		w.tools.Sync()
		w.set.Context(nil)
		w.registry.TakeSnapshot(nil).Definitions()
	}
}
