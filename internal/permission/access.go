package permission

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// BuiltIn is the Source of cairn's default rules.
const BuiltIn = "built-in"

// Access is a file that a command may reach and whose name is not known.
type Access struct {
	Action   string // external_directory, read or edit
	Resource string // with holes
	Outside  bool   // it begins with the value of a variable, which is an absolute path or none
}

// decideAccess decides about an access. A rule that denies it results in a firm ask, a rule that asks in an ask. Asks
// of the built-in rules count only for an access outside of the Location; otherwise they would ask for almost every
// command line that cannot be read.
func decideAccess(layers []Layer, a Access) Decision {
	if !a.Outside {
		layers = withoutBuiltInAsks(layers)
	}
	d := decideTarget(layers, nil, a.Action, target{text: a.Resource, isCommand: true})
	if d.Effect == session.Deny {
		d.Effect, d.Firm = session.Ask, true
	}
	if d.Rule == nil { // no rule is about it
		d.Effect = session.Allow
	}
	d.Possible, d.Reason = true, "may reach files that are not known before it runs"
	return d
}

func withoutBuiltInAsks(layers []Layer) []Layer {
	own := make([]Layer, len(layers))
	for i, l := range layers {
		own[i] = l
		own[i].Rules, own[i].RuleSources = nil, nil
		for j, r := range l.Rules {
			if effectOf(&r) != session.Ask || l.RuleSource(j) != BuiltIn {
				own[i].Rules = append(own[i].Rules, r)
				own[i].RuleSources = append(own[i].RuleSources, l.RuleSource(j))
			}
		}
	}
	return own
}

// decideAccesses appends the decisions about accesses that are not allowed.
func decideAccesses(layers []Layer, accesses []Access, out []Decision) []Decision {
	if len(accesses) == 0 || isExactlyAllowed(out) {
		return out
	}
	for i, a := range accesses {
		if slices.Contains(accesses[:i], a) {
			continue
		}
		if d := decideAccess(layers, a); d.Effect != session.Allow {
			out = append(out, d)
		}
	}
	return out
}
