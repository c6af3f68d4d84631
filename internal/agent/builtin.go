package agent

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

var (
	//go:embed prompt/build.md
	promptBuild string
	//go:embed prompt/plan.md
	promptPlan string // follows promptBuild
	//go:embed prompt/general.md
	promptGeneral string
	//go:embed prompt/explore.md
	promptExplore string
	//go:embed prompt/title.md
	promptTitle string
	//go:embed prompt/summary.md
	promptSummary string
	//go:embed prompt/compaction.md
	promptCompaction string
)

// The built-in agents that the engine itself calls.
const (
	Title      = "title"
	Summary    = "summary"
	Compaction = "compaction"
)

// builtins returns the agents that are there without any configuration, each with its rules on top of the defaults.
func builtins(o Options) []session.Agent {
	return []session.Agent{
		{
			ID: "build", Mode: session.ModePrimary, System: text(promptBuild),
			Description: "Does the work: reads, changes and runs what the task needs.",
			Permissions: []session.Rule{rule("question", "*", session.Allow), rule("plan_enter", "*", session.Allow)},
		},
		{
			ID: "plan", Mode: session.ModePrimary, System: text(promptBuild + promptPlan),
			Description: "Reads and plans; changes nothing.",
			Permissions: planRules(o.Plans),
		},
		{
			ID: "general", Mode: session.ModeSubagent, System: text(promptGeneral),
			Description: "Does one self-contained task of several steps and reports. Several can work at the same time.",
			Permissions: []session.Rule{rule("todowrite", "*", session.Deny)},
		},
		{
			ID: "explore", Mode: session.ModeSubagent, System: text(promptExplore),
			Description: "Finds things in the code base by reading only. Say whether to be quick or thorough.",
			Permissions: exploreRules(o.Allowed),
		},
		internal(Title, promptTitle, map[string]jsontext.Value{"temperature": jsontext.Value("0.5")}),
		internal(Summary, promptSummary, nil),
		internal(Compaction, promptCompaction, nil),
	}
}

// Builtin reports whether an agent of the name is there without any configuration.
func Builtin(name string) bool {
	return slices.ContainsFunc(builtins(Options{}), func(a session.Agent) bool { return a.ID == name })
}

func text(prompt string) string { return strings.TrimSpace(prompt) }

// internal is an agent that nobody selects and that may do nothing but answer.
func internal(name, prompt string, body map[string]jsontext.Value) session.Agent {
	return session.Agent{
		ID: name, Mode: session.ModePrimary, Hidden: true, System: text(prompt),
		Request: session.AgentRequest{Body: body}, Permissions: denyAll(),
	}
}

// planRules let nothing be written but plans: those of the project, and those in the directory of all plans.
func planRules(plans string) []session.Rule {
	rules := []session.Rule{
		rule("question", "*", session.Allow), rule("plan_exit", "*", session.Allow),
		rule("task", "general", session.Deny),
		rule("edit", "*", session.Deny),
		rule("edit", ".cairn/plans/*.md", session.Allow), rule("edit", ".opencode/plans/*.md", session.Allow),
	}
	if plans == "" {
		return rules
	}
	dir := permission.Escape(filepath.ToSlash(plans))
	return append(rules, rule("external_directory", dir+"/*", session.Allow), rule("edit", dir+"/*.md", session.Allow))
}

// exploreRules deny everything but reading. What the defaults ask about still asks.
func exploreRules(allowed []string) []session.Rule {
	rules := denyAll()
	for _, action := range []string{"read", "list", "glob", "grep"} {
		rules = append(rules, rule(action, "*", session.Allow))
	}
	for _, action := range []string{"webfetch", "websearch"} {
		rules = append(rules, rule(action, "*", session.Ask))
	}
	return slices.Concat(rules, secrets(), outside(allowed))
}
