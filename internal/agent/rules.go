package agent

import (
	"path/filepath"
	"slices"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// Layers returns the rules of everybody at a location, lowest first: the defaults, then one layer per document of the
// user's and of a trusted project's, then one ceiling per document of a project's that is not trusted.
func Layers(cfg *config.Config, o Options) []permission.Layer {
	layers := []permission.Layer{{Name: "defaults", Source: "built-in", Rules: defaults(o.Allowed)}}
	var project []permission.Layer
	for _, list := range cfg.Permissions {
		switch {
		case list.Trusted:
			layers = append(layers, layerOf("project", list))
		case list.Project:
			project = append(project, untrusted(list))
		default:
			layers = append(layers, layerOf("user", list))
		}
	}
	return append(layers, project...)
}

// layerOf is the layer of one document's rules.
func layerOf(name string, list config.RuleList) permission.Layer {
	l := permission.Layer{Name: name, Source: list.Source, Rules: list.Rules}
	for _, p := range list.Positions {
		l.Places = append(l.Places, p.String())
	}
	return l
}

// untrusted is the layer of a document that may only tighten.
func untrusted(list config.RuleList) permission.Layer {
	l := layerOf("project", list)
	l.Ceiling, l.Strict = true, true
	return l
}

// Layers returns every rule that holds for the agent at the location, lowest first; a session's own rules come after.
// The order is: defaults, what is built into the agent, the user's rules, the user's rules for this agent; and as
// ceilings the agent's own denies and the project's. For an unknown agent everything is denied (spec/v2 PM-3).
func (s *Set) Layers(name string) []permission.Layer {
	own, ok := s.own[name]
	if _, enabled := s.agents[name]; !ok || !enabled {
		return []permission.Layer{{Name: "agent", Source: "there is no agent " + name, Rules: denyAll(), Ceiling: true}}
	}
	var out []permission.Layer
	out = append(out, s.rules[0], own[0])
	out = append(out, s.rules[1:]...)
	return append(out, own[1:]...)
}

func rule(action, resource string, effect session.Effect) session.Rule {
	return session.Rule{Action: action, Resource: resource, Effect: effect}
}

func denyAll() []session.Rule { return []session.Rule{rule("*", "*", session.Deny)} }

// defaults are secure ones: reading and searching inside the location is allowed; changing, running, reaching out of
// it and secrets ask (spec/guarantees S10).
func defaults(allowed []string) []session.Rule {
	rules := []session.Rule{
		rule("*", "*", session.Allow),
		rule("doom_loop", "*", session.Ask),
		rule("edit", "*", session.Ask),
		rule("bash", "*", session.Ask),
		rule("webfetch", "*", session.Ask),
		rule("websearch", "*", session.Ask),
		rule("question", "*", session.Deny),
		rule("plan_enter", "*", session.Deny),
		rule("plan_exit", "*", session.Deny),
	}
	return slices.Concat(rules, secrets(), outside(allowed))
}

// outside asks about what lies outside of the location, but for the directories that belong to it anyway.
func outside(allowed []string) []session.Rule {
	rules := []session.Rule{rule("external_directory", "*", session.Ask)}
	for _, dir := range allowed {
		rules = append(rules, rule("external_directory", permission.Escape(filepath.ToSlash(dir))+"/*", session.Allow))
	}
	return rules
}

// secrets are files that usually hold some.
func secrets() []session.Rule {
	return []session.Rule{
		rule("read", "*.env", session.Ask),
		rule("read", "*.env.*", session.Ask),
		rule("read", "*.env.example", session.Allow),
	}
}
