package agent

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
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

// Built-in agents that the engine calls.
const (
	Title      = "title"
	Summary    = "summary"
	Compaction = "compaction"
)

// builtinAgents returns the built-in agents, each with its rules on top of the defaults.
func builtinAgents(o Options) []session.Agent {
	// Primary agents first, then subagents, then those that cairn runs itself.
	return []session.Agent{
		{
			ID: session.AgentBuild, Mode: session.ModePrimary, System: trimPrompt(promptBuild),
			Description: "Does the work: reads, changes and runs what the task needs.",
			Permissions: []session.Rule{
				newRule("question", "*", session.Allow),
				newRule("plan_enter", "*", session.Allow),
			},
		},
		{
			ID: session.AgentPlan, Mode: session.ModePrimary, System: trimPrompt(promptBuild + promptPlan),
			Description: "Reads and plans; changes nothing.",
			Permissions: planRules(o.Plans),
		},
		{
			ID: "general", Mode: session.ModeSubagent, System: trimPrompt(promptGeneral),
			Description: "Does one self-contained task of several steps and reports. Several can work at the same time.",
			Permissions: []session.Rule{newRule("todowrite", "*", session.Deny)},
		},
		{
			ID: "explore", Mode: session.ModeSubagent, System: trimPrompt(promptExplore),
			Description: "Finds things in the code base by reading only. Say whether to be quick or thorough.",
			Permissions: exploreRules(o.Allowed),
		},
		internalAgent(Title, promptTitle, map[string]jsontext.Value{"temperature": jsontext.Value("0.5")}),
		internalAgent(Summary, promptSummary, nil),
		internalAgent(Compaction, promptCompaction, nil),
	}
}

// IsBuiltin reports whether an agent of that name is built in.
func IsBuiltin(name string) bool {
	return slices.ContainsFunc(builtinAgents(Options{}), func(a session.Agent) bool { return a.ID == name })
}

func trimPrompt(prompt string) string { return strings.TrimSpace(prompt) }

// internalAgent returns an agent that users cannot select and that may not call tools.
func internalAgent(name, prompt string, body map[string]jsontext.Value) session.Agent {
	return session.Agent{
		ID: name, Mode: session.ModePrimary, Hidden: true, System: trimPrompt(prompt),
		Request: session.AgentRequest{Body: body}, Permissions: denyAll(),
	}
}

// planRules deny all writing except of plans: the project's, and those in the directory of plans.
func planRules(plans string) []session.Rule {
	rules := []session.Rule{
		newRule("question", "*", session.Allow), newRule("plan_exit", "*", session.Allow),
		newRule("task", "general", session.Deny),
		newRule("edit", "*", session.Deny),
		newRule("edit", ".cairn/plans/*.md", session.Allow), newRule("edit", ".opencode/plans/*.md", session.Allow),
	}
	if plans == "" {
		return rules
	}
	dir := permission.Escape(filepath.ToSlash(plans))
	return append(
		rules,
		newRule("external_directory", dir+"/*", session.Allow),
		newRule("edit", dir+"/*.md", session.Allow),
	)
}

// exploreRules deny everything but reading. What the defaults ask about still asks.
func exploreRules(allowed []string) []session.Rule {
	rules := denyAll()
	for _, action := range []string{"read", "list", "glob", "grep"} {
		rules = append(rules, newRule(action, "*", session.Allow))
	}
	for _, action := range []string{"webfetch", "websearch"} {
		rules = append(rules, newRule(action, "*", session.Ask))
	}
	return slices.Concat(rules, secretRules(), outsideRules(allowed))
}
