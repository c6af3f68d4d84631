package agent

import (
	"path/filepath"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// LocationLayers returns the rules for all agents of a location, lowest first: the defaults, one layer per document of
// the user and of a trusted project, and one ceiling per document of an untrusted project.
func LocationLayers(cfg *config.Config, o Options) []permission.Layer {
	layers := []permission.Layer{{Name: "defaults", Source: permission.BuiltIn, Rules: defaultRules(o)}}
	var project []permission.Layer
	for _, list := range cfg.Permissions {
		switch {
		case list.Trusted:
			layers = append(layers, layerOf("project", list))
		case list.Project:
			project = append(project, untrustedLayer(list))
		default:
			layers = append(layers, layerOf("user", list))
		}
	}
	return append(layers, project...)
}

// layerOf returns one document's rules as a layer.
func layerOf(name string, list config.RuleList) permission.Layer {
	l := permission.Layer{Name: name, Source: list.Source, Rules: list.Rules}
	for _, p := range list.Positions {
		l.RuleSources = append(l.RuleSources, p.String())
	}
	return l
}

// untrustedLayer returns the layer of a document that may only tighten.
func untrustedLayer(list config.RuleList) permission.Layer {
	l := layerOf("project", list)
	l.Ceiling, l.Strict = true, true
	return l
}

// AgentLayers returns all rules for the agent at the location, lowest first; a session's own rules come after. The
// order is: defaults, the agent's built-in rules, the user's rules, the user's rules for this agent; and as ceilings
// the agent's own denies and the project's, of each document what it says of all and of the agent. An unknown agent is
// denied everything (PM-3).
func (s *Set) AgentLayers(name string) []permission.Layer {
	own, ok := s.byAgent[name]
	if _, enabled := s.agents[name]; !ok || !enabled {
		return []permission.Layer{{Name: "agent", Source: "there is no agent " + name, Rules: denyAll(), Ceiling: true}}
	}
	out := []permission.Layer{s.rules[0], own[0]}
	for _, l := range s.rules[1:] {
		if !slices.ContainsFunc(own, func(o permission.Layer) bool { return isSameCeiling(l, o) }) {
			out = append(out, l)
		}
	}
	for _, o := range own[1:] {
		for _, l := range s.rules[1:] {
			if isSameCeiling(l, o) {
				o.Rules, o.RuleSources = slices.Concat(l.Rules, o.Rules), slices.Concat(l.RuleSources, o.RuleSources)
			}
		}
		out = append(out, o)
	}
	return out
}

// isSameCeiling reports whether both layers are of one document that may only tighten. What it says of an agent changes
// what it says of all, so they are one layer.
func isSameCeiling(a, b permission.Layer) bool { return a.Strict && b.Strict && a.Source == b.Source }

func newRule(action, resource string, effect session.Effect) session.Rule {
	return session.Rule{Action: action, Resource: resource, Effect: effect}
}

func denyAll() []session.Rule { return []session.Rule{newRule("*", "*", session.Deny)} }

// defaultRules allow every action but those listed: changing, running, leaving the location and reading secrets ask.
// Rules for secrets exist for the action read only, so a tool that shows file contents must ask for read.
func defaultRules(o Options) []session.Rule {
	rules := []session.Rule{
		newRule("*", "*", session.Allow),
		newRule("doom_loop", "*", session.Ask),
		newRule("edit", "*", session.Ask),
		newRule("bash", "*", session.Ask),
		newRule("webfetch", "*", session.Ask),
		newRule("websearch", "*", session.Ask),
		newRule("session_search", "*", session.Ask),
		newRule("question", "*", session.Deny),
		newRule("plan_enter", "*", session.Deny),
		newRule("plan_exit", "*", session.Deny),
	}
	for _, action := range o.Asking {
		rules = append(rules, newRule(action, "*", session.Ask))
	}
	return slices.Concat(rules, secretRules(), outsideRules(o.Allowed))
}

// outsideRules ask about addresses of the local network, and about paths outside of the location except for directories
// that belong to it.
func outsideRules(allowed []string) []session.Rule {
	rules := []session.Rule{
		newRule("webfetch_local", "*", session.Ask),
		newRule("external_directory", "*", session.Ask),
	}
	for _, dir := range allowed {
		rules = append(
			rules,
			newRule("external_directory", permission.Escape(filepath.ToSlash(dir))+"/*", session.Allow),
		)
	}
	return rules
}

// secretRules ask about files that usually contain secrets.
func secretRules() []session.Rule {
	return []session.Rule{
		newRule("read", "*.env", session.Ask),
		newRule("read", "*.env.*", session.Ask),
		newRule("read", "*.env.example", session.Allow),
	}
}
