package v2

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// The source of a server shows no argument and no part of an address that may be a key.
func TestShowSource(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]config.MCP{
		"https://example.com/mcp": {URL: "https://user:key@example.com/mcp?key=key"},
		"npx":                     {Command: []string{"npx", "server", "--token=key"}},
		"":                        {},
	} {
		if got := showSource(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
