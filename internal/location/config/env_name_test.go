package config_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// TestVariableName: a message names the variable that is set, of cairn's and OpenCode's names.
func TestVariableName(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"CAIRN_X": "CAIRN_X", "OPENCODE_X": "OPENCODE_X", "": "CAIRN_X",
	} {
		env := func(name string) string {
			if name == set {
				return "1"
			}
			return ""
		}
		if got := config.VariableName(env, "X"); got != want {
			t.Errorf("with %q set: got %q, want %q", set, got, want)
		}
	}
}
