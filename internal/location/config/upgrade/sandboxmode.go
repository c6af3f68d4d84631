package upgrade

import (
	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/session"
)

// sandboxMode replaces sandbox.enabled, which was a switch before there were two modes, by sandbox.mode.
var sandboxMode = step{
	to: 2,
	replaced: []replacement{
		{"sandbox.enabled", `write "mode": "strict" for true and "mode": "off" for false`},
	},
	apply: func(d *document.Document) ([]Note, error) {
		s := d.Root.Get("sandbox")
		enabled := s.RemoveMember("enabled")
		if enabled == nil {
			return nil, nil
		}
		// Only what was valid is converted; a value that may confine commands must not get lost.
		if enabled.Kind != 't' && enabled.Kind != 'f' {
			return nil, d.NewError(enabled.Offset, "sandbox.enabled", "want true or false, got %s", enabled.DescribeKind())
		}
		mode := session.SandboxOff
		if enabled.Kind == 't' {
			mode = session.SandboxStrict
		}
		// Files could have both; the mode decided.
		if s.Get("mode") != nil {
			return []Note{{enabled.FindPosition(), "sandbox.enabled", "has no effect: sandbox.mode is set too"}}, nil
		}
		s.Set("mode", d.NewText(enabled, string(mode)))
		return []Note{{
			enabled.FindPosition(), "sandbox.enabled",
			`is the older form of sandbox.mode and is read as "` + string(mode) + `"`,
		}}, nil
	},
}
