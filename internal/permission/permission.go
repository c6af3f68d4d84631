// Package permission decides whether an action on a resource is allowed. It is pure: rules in, decision out. Asking,
// saving approvals and waiting belong to the engine.
//
// Rules come in layers, which are ordered lists. The last matching rule wins, within a layer and across layers; if none
// matches, the decision is to ask. Saved approvals come after all layers and can only turn an ask into an allow, never
// a deny. A layer marked Ceiling (an agent's hard denies, a parent's rights) can only deny, and nothing overrides its
// denies; one that is also Strict (a project's rules) turns an allow into an ask as well.
package permission

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// Layer is the rules of one source, in order. Later layers take precedence.
type Layer struct {
	Name        string // "defaults", "agent", "user", "project" or "session", for people
	Source      string // e.g. the file of the rules; may be ""
	Rules       []session.Rule
	RuleSources []string // file and line of each rule; may be shorter than Rules
	Ceiling     bool     // only denies count, and nothing overrides them
	Strict      bool     // for a Ceiling: asks count too, where other layers allow
}

// Decision is an effect and the rule that caused it.
type Decision struct {
	Effect   session.Effect
	Rule     *session.Rule // nil: no rule matched
	Layer    string        // name of the layer of Rule, "approval" for a saved approval, "" if no rule matched
	Source   string        // file and line of Rule
	Resource string        // the resource decided about; for a command, the part of it, with NUL for unknown text
	Firm     bool          // the decision is to ask because Rule may deny; only a person may allow it
	Possible bool          // Rule matches only for some values of unknown text
	Reason   string        // why no pattern allows the command, e.g. "contains a command substitution ..."; may be ""
}

// Subject is an action on resources. If one resource is denied, the subject is; else if one asks, it asks. A shell
// command consists of several resources: its parts. No resources count as the one resource "*".
type Subject struct {
	Action    string
	Resources []string
	Command   CommandContext
}

// CommandContext holds the caller's knowledge about commands beyond their text.
type CommandContext struct {
	Unreadable      string   // why the text is not read at all, e.g. for its shell; "" if it can be
	Trees           []Tree   // directories that the commands read recursively
	UnknownAccesses []Access // files that they may reach and whose names are not known
}

// Evaluate decides about one resource.
func Evaluate(layers []Layer, approvals []session.Rule, action, resource string) Decision {
	return EvaluateAll(layers, approvals, Subject{Action: action, Resources: []string{resource}})
}

// EvaluateAll returns the strictest decision about the parts of the subject, of several the first.
func EvaluateAll(layers []Layer, approvals []session.Rule, s Subject) Decision {
	return FindStrictest(Explain(layers, approvals, s))
}

// Explain returns the decision about each part of each resource. A resource that is no shell command has one part.
func Explain(layers []Layer, approvals []session.Rule, s Subject) []Decision {
	if len(s.Resources) == 0 {
		return []Decision{decideTarget(layers, approvals, s.Action, target{text: "*"})}
	}
	var out []Decision
	for _, resource := range s.Resources {
		for _, t := range resolveTargets(s, resource) {
			out = append(out, decideTarget(layers, approvals, s.Action, t))
		}
	}
	out = decideAccesses(layers, s.Command.UnknownAccesses, out)
	for _, t := range s.Command.Trees {
		if d := decideTree(layers, approvals, t); d.Effect != session.Allow {
			out = append(out, d)
		}
	}
	return out
}

// FindStrictest returns the strictest decision, of several the first.
func FindStrictest(list []Decision) Decision {
	var worst Decision
	for i, d := range list {
		if i == 0 || d.rankStrictness() > worst.rankStrictness() {
			worst = d
		}
	}
	return worst
}

// decideTarget decides about one target. A target that may be denied asks, and only an approval of its exact text
// overrides that.
func decideTarget(layers []Layer, approvals []session.Rule, action string, t target) Decision {
	d, final := decideByLayers(layers, action, t)
	switch {
	case !final:
		d = applyApprovals(approvals, action, t, d)
	case d.Firm:
		d = applyExactApproval(approvals, action, t, d)
	}
	if d.Layer == Protected && !t.isCommand {
		d = decideProtectedDirectory(layers, approvals, action, d)
	}
	if d.Effect != session.Allow {
		d.Reason = t.reason
	}
	return d
}

// applyApprovals applies the saved approvals to an ask. A change of a protected file that the layers allow asks as
// well; only a rule or an approval that names the file overrides that.
func applyApprovals(approvals []session.Rule, action string, t target, d Decision) Decision {
	g := guardDecision(action, t)
	if g != nil && !namesProtected(d.Rule, g) {
		d = *g
	}
	if d.Effect != session.Ask {
		return d
	}
	saved := Layer{Name: "approval", Rules: approvals}
	if a, _ := saved.findLastMatch(action, t); a != nil && a.Effect == session.Allow &&
		(g == nil || namesProtected(a.Rule, g)) {
		return *a
	}
	return d
}

// applyExactApproval applies the saved approval of exactly this command to an ask that is firm because a rule may deny
// it: a person has seen the text and answered always.
func applyExactApproval(approvals []session.Rule, action string, t target, d Decision) Decision {
	for i := range approvals {
		r := &approvals[i]
		if t.isCommand && effectOf(r) == session.Allow && Match(r.Action, action) && t.matchesExactly(r) {
			return Decision{Effect: session.Allow, Rule: r, Layer: "approval", Resource: t.text}
		}
	}
	return d
}

// decideByLayers decides by the layers. final reports that neither a guard nor an
// approval by pattern overrides the decision.
func decideByLayers(layers []Layer, action string, t target) (d Decision, final bool) {
	possible, denied := decideByCeilings(layers, action, t)
	if denied != nil {
		return *denied, true
	}
	d, uncertain := decideByOrdinary(layers, action, t)
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
	return applyStrictCeilings(layers, action, t, d), false
}

// decideByCeilings returns the deny of a ceiling, or else one that may apply.
func decideByCeilings(layers []Layer, action string, t target) (possible, denied *Decision) {
	for _, l := range layers {
		if !l.Ceiling {
			continue
		}
		d, uncertain := l.findLastMatch(action, t)
		if d != nil && d.Effect == session.Deny {
			return nil, d
		}
		if possible == nil && uncertain != nil && uncertain.Effect == session.Deny {
			possible = uncertain
		}
	}
	return possible, nil
}

// decideByOrdinary returns the decision of the last matching rule of the layers that are no ceilings, and the
// strictest of the rules after it that may match.
func decideByOrdinary(layers []Layer, action string, t target) (Decision, *Decision) {
	d := Decision{Effect: session.Ask, Resource: t.text}
	var possible *Decision
	for _, l := range layers {
		if l.Ceiling {
			continue
		}
		own, uncertain := l.findLastMatch(action, t)
		if own != nil {
			d, possible = *own, nil
		}
		if uncertain != nil && (possible == nil || rankEffect(uncertain.Effect) > rankEffect(possible.Effect)) {
			possible = uncertain
		}
	}
	return d, possible
}

// applyStrictCeilings turns an allow into an ask if a strict ceiling asks.
func applyStrictCeilings(layers []Layer, action string, t target, d Decision) Decision {
	for _, l := range layers {
		if !l.Strict || d.Effect != session.Allow {
			continue
		}
		own, uncertain := l.findLastMatch(action, t)
		for _, r := range []*Decision{own, uncertain} {
			if r != nil && r.Effect == session.Ask {
				return *r
			}
		}
	}
	return d
}

// IsHidden reports whether the action is denied for every resource, so that its tools need not be offered to the model:
// the last rule for the action, of a ceiling or of all other layers, denies "*".
func IsHidden(layers []Layer, action string) bool {
	denied := false
	for _, l := range layers {
		for _, r := range slices.Backward(l.Rules) {
			if !Match(r.Action, action) {
				continue
			}
			all := effectOf(&r) == session.Deny && r.Resource == "*"
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

// findLastMatch returns the decision of the layer's last rule that matches the target, and the strictest of the rules
// after it that may match.
func (l Layer) findLastMatch(action string, t target) (own, possible *Decision) {
	for i := len(l.Rules) - 1; i >= 0; i-- {
		r := &l.Rules[i]
		c := t.matchRule(r, action)
		if c == noMatch {
			continue
		}
		d := &Decision{
			Effect:   effectOf(r),
			Rule:     r,
			Layer:    l.Name,
			Source:   l.RuleSource(i),
			Resource: t.text,
			Possible: c == possibleMatch,
		}
		if c == certainMatch {
			return d, possible
		}
		if possible == nil || rankEffect(d.Effect) > rankEffect(possible.Effect) {
			possible = d
		}
	}
	return nil, possible
}

// RuleSource returns the file and line of a rule.
func (l Layer) RuleSource(i int) string {
	if i < len(l.RuleSources) {
		return l.RuleSources[i]
	}
	return l.Source
}

// effectOf returns the effect of a rule. An unknown effect denies, so that a misspelt rule still protects.
func effectOf(r *session.Rule) session.Effect {
	switch r.Effect {
	case session.Allow, session.Ask:
		return r.Effect
	default:
		return session.Deny
	}
}

// rankStrictness returns the strictness of the effect; a firm ask ranks above another.
func (d Decision) rankStrictness() int {
	if d.Effect == session.Ask && d.Firm {
		return 2*rankEffect(d.Effect) + 1
	}
	return 2 * rankEffect(d.Effect)
}

func rankEffect(e session.Effect) int {
	switch e {
	case session.Allow:
		return 0
	case session.Ask:
		return 1
	default:
		return 2
	}
}
