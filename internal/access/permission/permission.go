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
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// Names of the layers whose patterns rely on a sandbox: see CommandContext.Unconfined.
const (
	LayerProject  = "project"
	LayerApproval = "approval"
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
	Resource string        // the resource decided about; for a command, the part of it, with NUL for a * or ?
	Reason   string        // why no pattern allows the command, e.g. "contains a command substitution ..."; may be ""
}

// IsUnspecific reports whether no rule for the action and a part of its resources decided: one for every action or
// resource, or none.
func (d Decision) IsUnspecific() bool {
	return d.Rule == nil || strings.Contains(d.Rule.Action, "*") || matchesAll(d.Rule.Resource)
}

// Subject is an action on resources. If one resource is denied, the subject is; else if one asks, it asks. A shell
// command consists of several resources: its parts. No resources count as the one resource "*".
type Subject struct {
	Action    string
	Resources []string
	Command   CommandContext
}

// CommandContext describes the command of a request beside its resources.
type CommandContext struct {
	Line     string // the line that contains the commands in Resources; a rule with its exact text allows them all
	NotPlain string // why no pattern applies to any text here, e.g. an unsupported shell; "" if the text decides
	// Unconfined: the system has no sandbox for a command that no person approves. Saved approvals and the rules of a
	// project then allow only exact texts and commands that only read.
	Unconfined bool
	// Confined: the request is for a file that the command may change in its sandbox without a permission. The built-in
	// rules that ask do not apply then; rules of the user and protected names do.
	Confined bool
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
	layers = s.Command.selectRules(layers)
	var out []Decision
	for _, resource := range s.Resources {
		for _, t := range resolveTargets(s, resource) {
			out = append(out, decideTarget(layers, approvals, s.Action, t))
		}
	}
	return out
}

// FindStrictest returns the strictest decision, of several the first.
func FindStrictest(list []Decision) Decision {
	var worst Decision
	for i, d := range list {
		if i == 0 || rankEffect(d.Effect) > rankEffect(worst.Effect) {
			worst = d
		}
	}
	return worst
}

// decideTarget decides about one target: by the layers, then by the guard of protected names, then by the saved
// approvals.
func decideTarget(layers []Layer, approvals []session.Rule, action string, t target) Decision {
	d := decideByLayers(layers, action, t)
	if d.Effect != session.Deny {
		d = applyApprovals(approvals, action, t, d)
	}
	if d.Layer == Protected && t.directory == "" {
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
	saved := Layer{Name: LayerApproval, Rules: approvals}
	if a := saved.findLastMatch(action, t); a != nil && a.Effect == session.Allow &&
		(g == nil || namesProtected(a.Rule, g)) {
		return *a
	}
	return d
}

// decideByLayers decides by the layers: a deny of a ceiling, else the last matching rule of the other layers, as far as
// no strict ceiling asks.
func decideByLayers(layers []Layer, action string, t target) Decision {
	d := Decision{Effect: session.Ask, Resource: t.text}
	var strict *Decision
	for _, l := range layers {
		own := l.findLastMatch(action, t)
		switch {
		case own == nil:
		case !l.Ceiling:
			d = *own
		case own.Effect == session.Deny:
			return *own
		case l.Strict && own.Effect == session.Ask && strict == nil:
			strict = own
		}
	}
	if d.Effect == session.Allow && strict != nil {
		return *strict
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

// findLastMatch returns the decision of the layer's last rule that matches the target, nil if none does.
func (l Layer) findLastMatch(action string, t target) *Decision {
	for i, r := range slices.Backward(l.Rules) {
		if !t.matchRule(&r, action) || l.needsSandbox(&r, t) {
			continue
		}
		return &Decision{Effect: effectOf(&r), Rule: &l.Rules[i], Layer: l.Name, Source: l.RuleSource(i), Resource: t.text}
	}
	return nil
}

// needsSandbox reports whether the rule does not apply because it relies on a sandbox and the system has none: a saved
// approval or a project's pattern that allows a command that does more than read.
func (l Layer) needsSandbox(r *session.Rule, t target) bool {
	return t.unconfined && !t.reads && (l.Name == LayerProject || l.Name == LayerApproval) &&
		effectOf(r) == session.Allow && !t.matchesExactly(r)
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
