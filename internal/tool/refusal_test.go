package tool_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// TestPlanRefusal: what the rules of the agent plan forbid is refused with its name and how to leave it; other rules
// are named.
func TestPlanRefusal(t *testing.T) {
	for name, c := range map[string]struct{ action, agent, resource, want string }{
		"an edit":       {"edit", "plan", "*", "another agent"},
		"a subagent":    {"task", "plan", "general", "another agent"},
		"an own rule":   {"task", "plan", "mine", "the rule"},
		"another agent": {"task", "build", "general", "the rule"},
	} {
		rule := session.Rule{Action: c.action, Resource: c.resource, Effect: session.Deny}
		denial := tool.Denial{Action: c.action, Agent: c.agent, Rule: &rule}
		if got := denial.Error(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q does not have %q", name, got, c.want)
		}
	}
}
