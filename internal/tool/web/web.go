// Package web has the tools that access the network: webfetch and websearch.
//
// URLs come from the model or from a page that it read, so webfetch decides by address, not by name. It resolves the
// name, requires that every address is public or allowed, and connects to a checked address, at every hop of a
// redirect. Responses are bounded in size, after decompression, and in time. Requests carry no cookies, credentials or
// proxy settings of the user.
package web

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Config configures the tools.
type Config struct {
	// Allow are addresses that may be reached although they are not public, e.g. a documentation server in the company
	// network. They come from the user's configuration, never from a project's.
	Allow []netip.Prefix
	// OwnPorts returns the TCP ports of cairn's servers on this machine, which are never reached; nil for none.
	OwnPorts func() []int
	// Lookup resolves a name; nil uses the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Agent is the user agent of this program.
	Agent string
	// Search is the service of websearch; nil removes the tool.
	Search *Searcher
}

// New returns the tools. They keep no connection open between calls.
func New(c Config) []tool.Tool {
	if c.Agent == "" {
		c.Agent = "cairn"
	}
	client := newClient(c)
	tools := []tool.Tool{&fetchTool{client}}
	if c.Search != nil {
		tools = append(tools, &searchTool{c.Search})
	}
	return tools
}

func newClient(c Config) *client {
	g := newGuard(c)
	return &client{guard: g, agent: c.Agent, transport: MarkRequests(g.newTransport())}
}

// NewTransport returns a transport that reaches public addresses and those that are allowed, as webfetch does.
func NewTransport(allow []netip.Prefix) http.RoundTripper {
	return MarkRequests(newGuard(Config{Allow: allow}).newTransport())
}

func (g *guard) newTransport() *http.Transport {
	return &http.Transport{
		DialContext: g.dial, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
}
