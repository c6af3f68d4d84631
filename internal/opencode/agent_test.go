package opencode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// Denies of a ceiling are last, but for those that the ceiling itself lifts again.
func TestAgentRules(t *testing.T) {
	rule := func(action, resource string, effect session.Effect) session.Rule {
		return session.Rule{Action: action, Resource: resource, Effect: effect}
	}
	layers := []permission.Layer{
		{Ceiling: true, Strict: true, Rules: []session.Rule{
			rule("task", "*", session.Deny), rule("bash", "x", session.Deny), rule("edit", "*", session.Deny),
			rule("read", "*", session.Ask), rule("task", "*", session.Allow), rule("bash", "*", session.Allow),
			rule("edit", "a", session.Allow),
		}},
		{Rules: []session.Rule{rule("*", "*", session.Allow)}},
	}
	want := opencode.RulesOf([]session.Rule{
		rule("*", "*", session.Allow), rule("edit", "*", session.Deny), rule("read", "*", session.Ask),
	})
	got := opencode.AgentOf(session.Agent{ID: "a"}, false, layers).Permission
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
