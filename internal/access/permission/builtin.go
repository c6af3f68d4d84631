package permission

import "github.com/cairn-dev/cairn/internal/session"

// BuiltIn is the Source of cairn's default rules.
const BuiltIn = "built-in"

// selectRules returns the layers, for a Confined request without the built-in rules that ask.
func (c CommandContext) selectRules(layers []Layer) []Layer {
	if !c.Confined {
		return layers
	}
	own := make([]Layer, len(layers))
	for i, l := range layers {
		own[i] = l
		own[i].Rules, own[i].RuleSources = nil, nil
		for j, r := range l.Rules {
			if r.Effect != session.Ask || l.RuleSource(j) != BuiltIn {
				own[i].Rules = append(own[i].Rules, r)
				own[i].RuleSources = append(own[i].RuleSources, l.RuleSource(j))
			}
		}
	}
	return own
}
