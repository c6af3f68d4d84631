package exec

import (
	"context"
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Variables that a call adds are in the environment of its command, after the configured ones. Names that cannot be set
// keep the command from running, and cairn's own never pass.
func TestAddedVariables(t *testing.T) {
	added := func(variables map[string]string) ([]string, error) {
		return listAdded(t.Context(), tool.Call{
			Environment: func(context.Context, string) (map[string]string, error) { return variables, nil },
		}, "/w")
	}
	s := &execTools{config: Config{Env: []string{"TOKEN=configured"}}}
	env, err := added(map[string]string{"TOKEN": "added", "CAIRN_CALL": "x", "OPENCODE_X": "x"})
	if err != nil {
		t.Fatal(err)
	}
	got := s.readEnvironment(confinement{}, env...)
	for name, want := range map[string]bool{
		"TOKEN=added": true, "TOKEN=configured": false, "CAIRN_CALL=x": false, "OPENCODE_X=x": false,
	} {
		if slices.Contains(got, name) != want {
			t.Errorf("%s is in the environment: %v", name, !want)
		}
	}
	for _, bad := range []map[string]string{{"": "x"}, {"A=B": "x"}, {"A\x00": "x"}, {"A": "x\x00"}} {
		if env, err := added(bad); err == nil {
			t.Errorf("%q is set: %q", bad, env)
		}
	}
}
