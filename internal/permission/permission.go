// Package permission decides whether an action on a resource is allowed. It is pure: rules in, decision out. Asking
// people, saving approvals and waiting belong to the engine.
//
// Rules come in layers that stay separate ordered lists. Within and across the layers the last matching rule wins;
// nothing matching means ask. Saved approvals come after all layers and lift an ask only: they never beat a deny. A
// layer marked Ceiling (an agent's hard denies, a parent's rights) can only deny, and nothing lifts its denies; one that is
// Strict as well (a project's rules) also turns an allow into an ask.
package permission

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// Layer is one source of rules, in order. Later layers win over earlier ones.
type Layer struct {
	Name    string // "defaults", "agent", "user", "project", "session": shown to people
	Source  string // where the rules stand, e.g. a file; may be ""
	Rules   []session.Rule
	Ceiling bool // only its denies count, and nothing lifts them
	Strict  bool // of a ceiling: its asks count too, where others allow
}

// Decision says what was decided, and by which rule.
type Decision struct {
	Effect session.Effect
	Rule   *session.Rule // nil: nothing matched, or an approval decided
	Layer  string        // the name of the layer of Rule, "approval", or "" when nothing matched
	Source string
}

// Evaluate decides about one resource.
func Evaluate(layers []Layer, approvals []session.Rule, action, resource string) Decision {
	for _, l := range layers {
		if !l.Ceiling {
			continue
		}
		if r := last(l.Rules, action, resource); r != nil && effect(r) == session.Deny {
			return Decision{session.Deny, r, l.Name, l.Source}
		}
	}
	d := Decision{Effect: session.Ask}
	for _, l := range layers {
		if l.Ceiling {
			continue
		}
		if r := last(l.Rules, action, resource); r != nil {
			d = Decision{effect(r), r, l.Name, l.Source}
		}
	}
	for _, l := range layers {
		if r := last(l.Rules, action, resource); l.Strict && d.Effect == session.Allow && r != nil && r.Effect == session.Ask {
			d = Decision{r.Effect, r, l.Name, l.Source}
		}
	}
	if d.Effect == session.Ask {
		if r := last(approvals, action, resource); r != nil && r.Effect == session.Allow {
			return Decision{session.Allow, r, "approval", ""}
		}
	}
	return d
}

// EvaluateAll decides about several resources at once: any deny denies, else any ask asks (spec/v2 PM-4). The
// decision is that of the first resource with the deciding effect. No resources count as the one resource "*".
func EvaluateAll(layers []Layer, approvals []session.Rule, action string, resources []string) Decision {
	if len(resources) == 0 {
		resources = []string{"*"}
	}
	var worst Decision
	for i, r := range resources {
		d := Evaluate(layers, approvals, action, r)
		if i == 0 || rank(d.Effect) > rank(worst.Effect) {
			worst = d
		}
	}
	return worst
}

// Hidden reports whether the action is denied whatever the resource, so that its tools need not be shown to the
// model: the last rule for the action, of a ceiling or of the other layers together, denies "*" (spec/v2 TR-4).
func Hidden(layers []Layer, action string) bool {
	denied := false
	for _, l := range layers {
		for _, r := range slices.Backward(l.Rules) {
			if !Match(r.Action, action) {
				continue
			}
			all := effect(&r) == session.Deny && r.Resource == "*"
			if l.Ceiling && all {
				return true
			}
			if !l.Ceiling {
				denied = all
			}
			break
		}
	}
	return denied
}

func last(rules []session.Rule, action, resource string) *session.Rule {
	for i := len(rules) - 1; i >= 0; i-- {
		if Match(rules[i].Action, action) && Match(rules[i].Resource, resource) {
			return &rules[i]
		}
	}
	return nil
}

// effect is what the rule does. One that nobody knows denies: a guard that is misspelt still guards.
func effect(r *session.Rule) session.Effect {
	switch r.Effect {
	case session.Allow, session.Ask:
		return r.Effect
	default:
		return session.Deny
	}
}

func rank(e session.Effect) int {
	switch e {
	case session.Allow:
		return 0
	case session.Ask:
		return 1
	default:
		return 2
	}
}
