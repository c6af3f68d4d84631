package config

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// RuleList is the permission rules of one document, in its order. Lists of several documents stay separate; the last
// matching rule of the last list wins (OC-8).
type RuleList struct {
	Source    string // the file or variable
	Project   bool   // from a project's files: it may deny and ask, and allow only what it denied itself
	Trusted   bool   // from a trusted project, equal to the user's
	Rules     []session.Rule
	Positions []Position // of each rule
}

// takePermissions removes the rules from an object's members tools and permission, in that order: the older member
// tools is the weaker one. It returns nil if there are no rules.
func (l *loader) takePermissions(n *node, path string) (*RuleList, error) {
	list := &RuleList{Source: n.doc.name, Project: n.doc.isProject(), Trusted: n.doc.scope == scopeTrusted}
	if tools := n.removeMember("tools"); tools != nil {
		if err := l.readToolRules(list, tools, join(path, "tools")); err != nil {
			return nil, err
		}
	}
	if p := n.removeMember("permission"); p != nil {
		if err := l.readRules(list, p, join(path, "permission")); err != nil {
			return nil, err
		}
	}
	if len(list.Rules) == 0 {
		return nil, nil
	}
	if list.Project && !list.Trusted {
		l.warnIdleRules(n.doc, list, join(path, "permission"))
	}
	return list, nil
}

// readRules reads the three forms of permissions: one effect, an object by action (V1), a list of rules (V2).
func (l *loader) readRules(list *RuleList, n *node, path string) error {
	switch n.kind {
	case '"':
		return l.addRule(list, n, path, session.Rule{Action: "*", Resource: "*"})
	case '{':
		for _, m := range n.members {
			if err := l.actionRules(list, m, join(path, m.key)); err != nil {
				return err
			}
		}
		return nil
	case '[':
		return l.readRuleList(list, n, path)
	default:
		return l.keepError(
			n.doc.newError(
				n.offset,
				path,
				`want "allow", "ask" or "deny", an object by action, or a list of rules, got %s`,
				n.kindName(),
			),
		)
	}
}

// actionRules reads what V1 says of one action: an effect, or effects by pattern.
func (l *loader) actionRules(list *RuleList, m member, path string) error {
	switch m.value.kind {
	case '"':
		return l.addRule(list, m.value, path, session.Rule{Action: ActionName(m.key), Resource: "*"})
	case '{':
		for _, p := range m.value.members {
			if err := l.addRule(list, p.value, path+"["+p.key+"]",
				session.Rule{Action: ActionName(m.key), Resource: p.key}); err != nil {
				return err
			}
		}
		return nil
	default:
		return l.keepError(
			m.value.doc.newError(
				m.value.offset,
				path,
				`want "allow", "ask" or "deny", or an object of these by pattern, got %s`,
				m.value.kindName(),
			),
		)
	}
}

// readRuleList reads V2's [{action, resource, effect}]; a missing resource matches everything.
func (l *loader) readRuleList(list *RuleList, n *node, path string) error {
	for _, item := range n.items {
		if item.kind != '{' {
			if err := l.keepError(item.doc.newError(item.offset, path, "want rules {action, resource, effect}, got %s",
				item.kindName())); err != nil {
				return err
			}
			continue
		}
		var act, resource string
		for key, to := range map[string]*string{"action": &act, "resource": &resource} {
			v := item.get(key)
			if v == nil {
				*to = "*"
				continue
			}
			if v.kind != '"' || v.text == "" {
				return l.keepError(v.doc.newError(v.offset, join(path, key), "want a string, got %s", v.kindName()))
			}
			*to = v.text
		}
		if item.get("action") == nil || item.get("effect") == nil {
			if err := l.keepError(item.doc.newError(item.offset, path,
				"want rules {action, resource, effect}; action or effect is missing")); err != nil {
				return err
			}
			continue
		}
		if err := l.addRule(list, item.get("effect"), join(path, "effect"),
			session.Rule{Action: ActionName(act), Resource: resource}); err != nil {
			return err
		}
	}
	return nil
}

// readToolRules reads {tool: true or false}.
func (l *loader) readToolRules(list *RuleList, n *node, path string) error {
	if n.kind != '{' {
		return l.keepError(
			n.doc.newError(n.offset, path, "want an object of tools with true or false, got %s", n.kindName()),
		)
	}
	for _, m := range n.members {
		if m.value.kind != 't' && m.value.kind != 'f' {
			if err := l.keepError(n.doc.newError(m.value.offset, join(path, m.key), "want true or false, got %s",
				m.value.kindName())); err != nil {
				return err
			}
			continue
		}
		effect := session.Deny
		if m.value.kind == 't' {
			effect = session.Allow
		}
		list.add(m.value, session.Rule{Action: ActionName(m.key), Resource: "*", Effect: effect})
	}
	return nil
}

// addRule adds r with the effect that n names.
func (l *loader) addRule(list *RuleList, n *node, path string, r session.Rule) error {
	switch effect := session.Effect(n.text); {
	case n.kind == '"' && (effect == session.Allow || effect == session.Ask || effect == session.Deny):
		r.Resource, r.Effect = l.expandResource(r.Action, r.Resource), effect
		list.add(n, r)
		return nil
	default:
		return l.keepError(n.doc.newError(n.offset, path, `want "allow", "ask" or "deny", got %s`, n.formatExcerpt()))
	}
}

func (r *RuleList) add(n *node, rule session.Rule) {
	r.Rules = append(r.Rules, rule)
	r.Positions = append(r.Positions, n.position())
}

// ActionName returns the permission action of a tool: several tools share the action edit, and OpenCode's newer names
// map to the older ones.
func ActionName(name string) string {
	switch name {
	case "write", "patch", "apply_patch", "multiedit":
		return "edit"
	case "shell":
		return "bash"
	case "subagent":
		return "task"
	default:
		return name
	}
}

// expandResource expands the home directory at the start of a pattern, for actions on files only; in a command "~" is
// expanded by the shell (PM-12).
func (l *loader) expandResource(act, pattern string) string {
	if act != "external_directory" && act != "read" && act != "edit" || l.dirs.Home == "" {
		return pattern
	}
	for _, home := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(pattern, home); ok && (rest == "" || rest[0] == '/') {
			return l.dirs.Home + rest
		}
	}
	return pattern
}

// warnIdleRules reports allow rules of an untrusted project that have no effect.
func (l *loader) warnIdleRules(d *document, list *RuleList, path string) {
	for _, i := range list.IdleRules() {
		l.addWarning(
			list.Positions[i],
			WarnUntrusted,
			join(path, list.Rules[i].Action),
			"allows something, which "+d.untrustedReason(),
		)
	}
}

// IdleRules returns the indexes of the rules that have no effect while the project is untrusted: those that allow what
// no earlier rule of the list denies or asks about.
func (r *RuleList) IdleRules() (idle []int) {
	limited := map[string]bool{}
	for i, rule := range r.Rules {
		switch {
		case rule.Effect != session.Allow:
			limited[rule.Action] = true
		case !limited[rule.Action] && !limited["*"]:
			idle = append(idle, i)
		}
	}
	return idle
}

// ruleValue returns the rule as JSON for Explain.
func ruleValue(r session.Rule) jsontext.Value {
	b := append([]byte(`{"action":`), quote(nil, r.Action)...)
	b = append(append(b, `,"resource":`...), quote(nil, r.Resource)...)
	b = append(append(b, `,"effect":`...), quote(nil, string(r.Effect))...)
	return append(b, '}')
}
