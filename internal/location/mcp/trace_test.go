package mcp_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/telemetry"
)

// TestTrace: the request of a call to a remote server names the span of the call, if requests are traced.
func TestTrace(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, wrap := range map[string]func(http.RoundTripper) http.RoundTripper{parent: telemetry.NewTransport, "": nil} {
		s := sdk.NewServer(&sdk.Implementation{Name: "s"}, nil)
		addTool(s, "look", func(context.Context, *sdk.CallToolRequest) (string, error) { return "seen", nil })
		var named atomic.Value
		handler := handleStreamable(s)
		w := newWorld(t, mcp.Options{WrapTransport: wrap}, map[string]config.MCP{
			"far": serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Session-Id") != "" && r.Method == http.MethodPost {
					named.Store(r.Header.Get("Traceparent"))
				}
				handler.ServeHTTP(w, r)
			})),
		})
		w.connect("far")
		c, _ := telemetry.ParseTraceContext(parent, "")
		if o := w.callIn(telemetry.WithTrace(t.Context(), c), "far_look", `{}`); o.Error != nil || named.Load() != name {
			t.Errorf("the request names %q, want %q: %+v", named.Load(), name, o)
		}
	}
}
