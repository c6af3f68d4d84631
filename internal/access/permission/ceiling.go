package permission

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// AsCeiling returns the layers as a ceiling for work on behalf of their holder, e.g. a subagent: what they deny is
// denied, and what they ask for asks, whatever the rules of that work say. An action that no rule matches asks, as
// always.
func AsCeiling(layers []Layer) []Layer {
	own := Layer{Name: "parent", Ceiling: true, Strict: true}
	own.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Ask}}
	own.RuleSources = []string{"no rule of the parent allows it"}
	var ceilings []Layer
	for _, l := range layers {
		if l.Ceiling {
			ceilings = append(ceilings, l)
			continue
		}
		own.Rules = append(own.Rules, l.Rules...)
		for i := range l.Rules {
			own.RuleSources = append(own.RuleSources, l.RuleSource(i))
		}
	}
	return append([]Layer{own}, slices.Clone(ceilings)...)
}
