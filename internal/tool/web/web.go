// Package web holds the tools that reach into the network: webfetch and websearch.
//
// A URL is anybody's: the model's, or that of a page it has read. So webfetch decides on addresses, not on names. The
// name is resolved first, every address it has must be a public one, and the connection is made to an address that was
// checked, when it is made, at every hop of a redirect. What answers is bounded in size, after decompression, and in
// time. No cookie, credential or proxy of the user's goes along.
package web

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Config says what may be reached and how.
type Config struct {
	// Allow are addresses that may be reached although they are not public, e.g. a documentation server in the
	// company's network. The user's own decision, never a project's.
	Allow []netip.Prefix
	// Lookup resolves a name; nil asks the system. Tests give their own.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Agent names this program to servers.
	Agent string
	// Search is who is asked by websearch; nil: there is no such tool.
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
	return &client{guard: g, agent: c.Agent, transport: g.newTransport()}
}

// NewTransport reaches what webfetch would reach: public addresses, and those that are allowed.
func NewTransport(allow []netip.Prefix) http.RoundTripper {
	return newGuard(Config{Allow: allow}).newTransport()
}

func (g *guard) newTransport() *http.Transport {
	return &http.Transport{
		DialContext: g.dial, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
}
