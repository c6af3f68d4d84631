// Package permission decides whether an action on a resource is allowed. It is pure: rules in, decision out. Asking
// people, saving approvals and waiting belong to the engine.
//
// Rules come in layers that stay separate ordered lists. Within and across the layers the last matching rule wins;
// nothing matching means ask. Saved approvals come after all layers and lift an ask only: they never beat a deny. A
// layer marked Ceiling (an agent's hard denies, a parent's rights) can only deny, and nothing lifts its denies; one
// that is Strict as well (a project's rules) also turns an allow into an ask.
package permission

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/shell"
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
	Firm     bool          // it asks because Rule may deny it: only a person may allow that
	Possible bool          // Rule matches only for something that is not known yet
}

// Subject is what is decided about: an action on resources, of which any deny denies, else any ask asks (spec/v2 PM-4).
// A shell command is several: its parts. No resources count as the one resource "*".
type Subject struct {
	Action    string
	Resources []string
	Seen      Seen
}

// Seen is what whoever asks for commands knows about them beyond their texts.
type Seen struct {
	// directories that they may stand in, as resources, with a hole for an unknown one; none: the place itself
	From   []string
	Below  []Tree   // directories that they read as a whole
	Script string   // all that would be run, of which the resources are the commands
	Known  []string // words with holes whose files are known and were asked for, as shell.Part.Reads has them
}

// Evaluate decides about one resource.
func Evaluate(layers []Layer, approvals []session.Rule, action, resource string) Decision {
	return EvaluateAll(layers, approvals, Subject{Action: action, Resources: []string{resource}})
}

// EvaluateAll is the first of the sternest decisions about the parts of the subject.
func EvaluateAll(layers []Layer, approvals []session.Rule, s Subject) Decision {
	return Worst(Explain(layers, approvals, s))
}

// Explain decides about each part of each resource; what is no shell command has one.
func Explain(layers []Layer, approvals []session.Rule, s Subject) []Decision {
	anything := len(s.Resources) == 0
	if anything {
		s.Resources = []string{"*"}
	}
	var out []Decision
	around := shell.Parse(s.Seen.Script).Commands
	for _, resource := range s.Resources {
		for _, t := range targets(s, resource, around) {
			if anything { // no command, so that nothing is read
				t.reads = nil
			}
			out = append(out, decide(layers, approvals, s.Action, t))
		}
	}
	for _, t := range s.Seen.Below {
		if d := within(layers, approvals, t); d.Effect != session.Allow {
			out = append(out, d)
		}
	}
	return out
}

// Worst is the first of the sternest decisions.
func Worst(list []Decision) Decision {
	var worst Decision
	for i, d := range list {
		if i == 0 || d.rank() > worst.rank() {
			worst = d
		}
	}
	return worst
}

// decide decides about one target. What may be denied asks, and no approval lifts that.
func decide(layers []Layer, approvals []session.Rule, action string, t target) Decision {
	if t.anywhere {
		return *asksFor(guardedDirs[0], t)
	}
	d, final := ruled(layers, action, t)
	if !final {
		d = lifted(approvals, action, t, d)
	}
	if against := reading(layers, t, d); against != nil {
		return *against
	}
	return d
}

// lifted is what becomes of an ask by the saved approvals, and of what is allowed where something protected is changed:
// only what spells its name stands above that.
func lifted(approvals []session.Rule, action string, t target, d Decision) Decision {
	g := guard(action, t)
	if g != nil && !spells(d.Rule, g) {
		d = *g
	}
	if d.Effect != session.Ask {
		return d
	}
	saved := Layer{Name: "approval", Rules: approvals}
	if a, _ := saved.last(action, t); a != nil && a.Effect == session.Allow && (g == nil || spells(a.Rule, g)) {
		return *a
	}
	return d
}

// ruled decides by the layers; final: nothing lifts that.
func ruled(layers []Layer, action string, t target) (d Decision, final bool) {
	possible, denied := ceilings(layers, action, t)
	if denied != nil {
		return *denied, true
	}
	d, uncertain := ordinary(layers, action, t)
	switch {
	case d.Effect == session.Deny:
		return d, true
	case possible == nil && uncertain != nil && uncertain.Effect == session.Deny:
		possible = uncertain
	case uncertain != nil && d.Effect == session.Allow:
		d = *uncertain
	}
	if possible != nil {
		possible.Effect, possible.Firm = session.Ask, true
		return *possible, true
	}
	return strictly(layers, action, t, d), false
}

// ceilings returns what a ceiling denies, or else may deny.
func ceilings(layers []Layer, action string, t target) (possible, denied *Decision) {
	for _, l := range layers {
		if !l.Ceiling {
			continue
		}
		d, uncertain := l.last(action, t)
		if d != nil && d.Effect == session.Deny {
			return nil, d
		}
		if possible == nil && uncertain != nil && uncertain.Effect == session.Deny {
			possible = uncertain
		}
	}
	return possible, nil
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

// rank is rank of the effect, where a firm ask is sterner than another.
func (d Decision) rank() int {
	if d.Effect == session.Ask && d.Firm {
		return 2*rank(d.Effect) + 1
	}
	return 2 * rank(d.Effect)
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
