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
	Places  []string // where each rule stands, file and line; may be shorter than Rules
	Ceiling bool     // only its denies count, and nothing lifts them
	Strict  bool     // of a ceiling: its asks count too, where others allow
}

// Decision says what was decided, and by which rule.
type Decision struct {
	Effect   session.Effect
	Rule     *session.Rule // nil: nothing matched
	Layer    string        // the name of the layer of Rule, "approval", or "" when nothing matched
	Source   string        // where Rule stands
	Resource string        // what was decided about: of a command the part of it; a hole in it is a NUL
	Possible bool          // Rule matches only for something that is not known yet
}

// Evaluate decides about one resource. A shell command is several: its parts, of which any deny denies, else any ask asks.
func Evaluate(layers []Layer, approvals []session.Rule, action, resource string) Decision {
	return Worst(Explain(layers, approvals, action, resource))
}

// Explain decides about each part of a resource; what is no shell command has one.
func Explain(layers []Layer, approvals []session.Rule, action, resource string) []Decision {
	var out []Decision
	for _, t := range targets(action, resource) {
		out = append(out, decide(layers, approvals, action, t))
	}
	return out
}

// Worst is the first of the sternest decisions.
func Worst(list []Decision) Decision {
	var worst Decision
	for i, d := range list {
		if i == 0 || rank(d.Effect) > rank(worst.Effect) {
			worst = d
		}
	}
	return worst
}

// decide decides about one target. What may be denied asks, and no approval lifts that.
func decide(layers []Layer, approvals []session.Rule, action string, t target) Decision {
	var possible *Decision
	for _, l := range layers {
		if !l.Ceiling {
			continue
		}
		d, uncertain := l.last(action, t)
		if d != nil && d.Effect == session.Deny {
			return *d
		}
		if possible == nil && uncertain != nil && uncertain.Effect == session.Deny {
			possible = uncertain
		}
	}
	d, uncertain := ordinary(layers, action, t)
	switch {
	case d.Effect == session.Deny:
		return d
	case possible == nil && uncertain != nil && uncertain.Effect == session.Deny:
		possible = uncertain
	case uncertain != nil && d.Effect == session.Allow:
		d = *uncertain
	}
	if possible != nil {
		possible.Effect = session.Ask
		return *possible
	}
	d = strictly(layers, action, t, d)
	if d.Effect == session.Ask {
		saved := Layer{Name: "approval", Rules: approvals}
		if a, _ := saved.last(action, t); a != nil && a.Effect == session.Allow {
			return *a
		}
	}
	return d
}

// ordinary is the last rule of all layers but ceilings, and the sternest one after it that may be about the target too.
func ordinary(layers []Layer, action string, t target) (Decision, *Decision) {
	d := Decision{Effect: session.Ask, Resource: t.text}
	var possible *Decision
	for _, l := range layers {
		if l.Ceiling {
			continue
		}
		own, uncertain := l.last(action, t)
		if own != nil {
			d, possible = *own, nil
		}
		if uncertain != nil && (possible == nil || rank(uncertain.Effect) > rank(possible.Effect)) {
			possible = uncertain
		}
	}
	return d, possible
}

// strictly asks where a strict ceiling does and the others allow.
func strictly(layers []Layer, action string, t target, d Decision) Decision {
	for _, l := range layers {
		if !l.Strict || d.Effect != session.Allow {
			continue
		}
		own, uncertain := l.last(action, t)
		for _, r := range []*Decision{own, uncertain} {
			if r != nil && r.Effect == session.Ask {
				return *r
			}
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
	list := make([]Decision, len(resources))
	for i, r := range resources {
		list[i] = Evaluate(layers, approvals, action, r)
	}
	return Worst(list)
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

// last returns what the layer's last rule about the target says, and the sternest of those after it that may be about
// it too.
func (l Layer) last(action string, t target) (own, possible *Decision) {
	for i := len(l.Rules) - 1; i >= 0; i-- {
		r := &l.Rules[i]
		c := t.about(r, action)
		if c == no {
			continue
		}
		d := &Decision{Effect: effect(r), Rule: r, Layer: l.Name, Source: l.Place(i), Resource: t.text, Possible: c == maybe}
		if c == sure {
			return d, possible
		}
		if possible == nil || rank(d.Effect) > rank(possible.Effect) {
			possible = d
		}
	}
	return nil, possible
}

// Place is where a rule of the layer stands.
func (l Layer) Place(i int) string {
	if i < len(l.Places) {
		return l.Places[i]
	}
	return l.Source
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
