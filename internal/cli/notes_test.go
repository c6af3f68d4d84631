package cli

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/location/config"
)

// TestWithoutEffectNote: one line names the settings without effect once each, and what waits for trust.
func TestWithoutEffectNote(t *testing.T) {
	t.Parallel()
	unused := func(key string) config.Warning { return config.Warning{Kind: config.WarnUnused, Key: key} }
	claim := &trust.Claim{Files: []trust.File{{Path: "a"}, {Path: "b"}}}
	for name, c := range map[string]struct {
		cfg  config.Config
		want string
	}{
		"nothing": {config.Config{Claim: &trust.Claim{}}, ""},
		"unused": {
			config.Config{Warnings: []config.Warning{
				unused("mcp.a"), unused("mcp.b"), unused("lsp"), {Kind: config.WarnUnknown, Key: "x"},
			}},
			"without effect in cairn: mcp, lsp (/doctor)",
		},
		"untrusted": {config.Config{Claim: claim}, "project settings in 2 files wait for trust (/trust)"},
		"untrusted, and without effect once it is trusted": {
			config.Config{Warnings: []config.Warning{
				{Kind: config.WarnUntrusted, Key: "mcp"}, {Kind: config.WarnUntrusted, Key: "provider"},
			}},
			"without effect in cairn: mcp (/doctor)",
		},
		"trusted": {config.Config{Claim: claim, Trusted: true}, ""},
		"both": {
			config.Config{Claim: claim, Warnings: []config.Warning{unused("theme")}},
			"1 key ignored: /doctor; untrusted: /trust",
		},
		"all, in a line of 60 columns": {
			config.Config{Claim: claim, Unrun: []string{".opencode/plugin/a.ts"}, Warnings: []config.Warning{
				unused("theme"), unused("mcp"), unused("lsp"), unused("formatter"),
			}},
			"plugins off, 4 keys ignored: /doctor; untrusted: /trust",
		},
	} {
		if got := WithoutEffectNote(&c.cfg); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
