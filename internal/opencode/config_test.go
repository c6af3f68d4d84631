package opencode_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// Permissions written as an object decide as the rules do: each pattern is at the position of its last rule, and a rule
// for a whole action comes after the actions named before it.
func TestPermissionOrder(t *testing.T) {
	rule := func(action, resource string, e session.Effect) session.Rule {
		return session.Rule{Action: action, Resource: resource, Effect: e}
	}
	for _, c := range []struct {
		rules []session.Rule
		want  string
	}{
		{
			[]session.Rule{rule("bash", "*", "ask"), rule("bash", "git *", "allow")},
			`{"bash":{"*":"ask","git *":"allow"}}`,
		},
		{
			[]session.Rule{rule("bash", "git *", "allow"), rule("bash", "*", "ask")},
			`{"bash":{"git *":"allow","*":"ask"}}`,
		},
		{
			[]session.Rule{rule("bash", "*", "allow"), rule("bash", "git *", "allow"), rule("bash", "*", "ask")},
			`{"bash":{"git *":"allow","*":"ask"}}`,
		},
		{[]session.Rule{rule("edit", "*", "deny"), rule("edit", "*", "ask")}, `{"edit":"ask"}`},
		{
			[]session.Rule{rule("*", "*", "allow"), rule("bash", "*", "ask"), rule("*", "*", "deny")},
			`{"bash":"ask","*":"deny"}`,
		},
		{
			[]session.Rule{rule("bash", "ls", "ask"), rule("edit", "*", "ask"), rule("bash", "pwd", "deny")},
			`{"bash":{"ls":"ask","pwd":"deny"},"edit":"ask"}`,
		},
	} {
		if got := string(opencode.ConfigOf(nil, c.rules, false)["permission"]); got != c.want {
			t.Errorf("%v: %s, want %s", c.rules, got, c.want)
		}
	}
}
