package v2

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// The source of a server shows its whole command, but no part of it or of an address that may be a key.
func TestShowSource(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]config.MCP{
		"https://example.com/mcp": {URL: "https://user:key@example.com/mcp?key=key"},
		"npx -y server /src":      {Command: []string{"npx", "-y", "server", "/src"}},
		"":                        {},
	} {
		if got := showSource(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	const key = "sk-ant-api03-abcdefghij0123456789abcdefghij0123456789-AA"
	for _, command := range [][]string{
		{"npx", "server", "--token=" + key}, {"npx", "server", "--api-key", "Zx81kQp0vLm3"}, {"server", key},
	} {
		got := showSource(config.MCP{Command: command})
		if strings.Contains(got, key) || strings.Contains(got, "Zx81kQp0vLm3") || !strings.Contains(got, "server") {
			t.Errorf("%q is shown", got)
		}
	}
}
