package config

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// RuleList is what one document says of permissions, in its order. The lists of several documents stay separate and
// are read one after the other, the later one winning (spec/v1 §44 W8).
type RuleList struct {
	Source  string // the file or variable
	Project bool   // from a project's files: it may forbid and ask, and allow what it forbade itself, nothing else
	Trusted bool   // of a project's: it is trusted, and as good as the user's
	Rules   []session.Rule
	Places  []Place // of each rule
}

// permissions takes the rules out of an object's members tools and permission, in that order (tools, the older way,
// is the weaker; spec/v1 §22). It returns nil when there are none.
func (l *loader) permissions(n *node, path string) (*RuleList, error) {
	list := &RuleList{Source: n.doc.name, Project: n.doc.ofProject(), Trusted: n.doc.scope == scopeTrusted}
	if tools := n.take("tools"); tools != nil {
		if err := l.toolRules(list, tools, join(path, "tools")); err != nil {
			return nil, err
		}
	}
	if p := n.take("permission"); p != nil {
		if err := l.rules(list, p, join(path, "permission")); err != nil {
			return nil, err
		}
	}
	if len(list.Rules) == 0 {
		return nil, nil
	}
	if list.Project && !list.Trusted {
		l.warnLoose(n.doc, list, join(path, "permission"))
	}
	return list, nil
}

// rules reads the three ways to write permissions: one effect, an object by action (V1), a list of rules (V2).
func (l *loader) rules(list *RuleList, n *node, path string) error {
	switch n.kind {
	case '"':
		return l.rule(list, n, path, session.Rule{Action: "*", Resource: "*"})
	case '{':
		for _, m := range n.members {
			if err := l.actionRules(list, m, join(path, m.key)); err != nil {
				return err
			}
		}
		return nil
	case '[':
		return l.ruleList(list, n, path)
	default:
		return l.wrong(n.doc.errorf(n.offset, path, `want "allow", "ask" or "deny", an object by action, or a list of rules, got %s`, n.kindName()))
	}
}

// actionRules reads what V1 says of one action: an effect, or effects by pattern.
func (l *loader) actionRules(list *RuleList, m member, path string) error {
	switch m.value.kind {
	case '"':
		return l.rule(list, m.value, path, session.Rule{Action: Action(m.key), Resource: "*"})
	case '{':
		for _, p := range m.value.members {
			if err := l.rule(list, p.value, path+"["+p.key+"]", session.Rule{Action: Action(m.key), Resource: p.key}); err != nil {
				return err
			}
		}
		return nil
	default:
		return l.wrong(m.value.doc.errorf(m.value.offset, path, `want "allow", "ask" or "deny", or an object of these by pattern, got %s`, m.value.kindName()))
	}
}

// ruleList reads V2's [{action, resource, effect}]; resource may be missing and is then everything.
func (l *loader) ruleList(list *RuleList, n *node, path string) error {
	for _, item := range n.items {
		if item.kind != '{' {
			if err := l.wrong(item.doc.errorf(item.offset, path, "want rules {action, resource, effect}, got %s", item.kindName())); err != nil {
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
				return l.wrong(v.doc.errorf(v.offset, join(path, key), "want text in quotes, got %s", v.kindName()))
			}
			*to = v.text
		}
		if item.get("action") == nil || item.get("effect") == nil {
			if err := l.wrong(item.doc.errorf(item.offset, path, "want rules {action, resource, effect}; action or effect is missing")); err != nil {
				return err
			}
			continue
		}
		if err := l.rule(list, item.get("effect"), join(path, "effect"), session.Rule{Action: Action(act), Resource: resource}); err != nil {
			return err
		}
	}
	return nil
}

// toolRules reads {tool: true or false}.
func (l *loader) toolRules(list *RuleList, n *node, path string) error {
	if n.kind != '{' {
		return l.wrong(n.doc.errorf(n.offset, path, "want an object of tools with true or false, got %s", n.kindName()))
	}
	for _, m := range n.members {
		if m.value.kind != 't' && m.value.kind != 'f' {
			if err := l.wrong(n.doc.errorf(m.value.offset, join(path, m.key), "want true or false, got %s", m.value.kindName())); err != nil {
				return err
			}
			continue
		}
		effect := session.Deny
		if m.value.kind == 't' {
			effect = session.Allow
		}
		list.add(m.value, session.Rule{Action: Action(m.key), Resource: "*", Effect: effect})
	}
	return nil
}

// rule adds r with the effect that n names.
func (l *loader) rule(list *RuleList, n *node, path string, r session.Rule) error {
	switch effect := session.Effect(n.text); {
	case n.kind == '"' && (effect == session.Allow || effect == session.Ask || effect == session.Deny):
		r.Resource, r.Effect = l.resource(r.Action, r.Resource), effect
		list.add(n, r)
		return nil
	default:
		return l.wrong(n.doc.errorf(n.offset, path, `want "allow", "ask" or "deny", got %s`, n.said()))
	}
}

func (r *RuleList) add(n *node, rule session.Rule) {
	r.Rules = append(r.Rules, rule)
	r.Places = append(r.Places, n.place())
}

// Action is the action that a tool asks for: several ask as edit, and OpenCode's newer names mean the older ones.
func Action(name string) string {
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

// resource expands the home directory at the start of a pattern, for actions on files only: in a command ~ is the
// shell's (spec/v2 PM-12).
func (l *loader) resource(act, pattern string) string {
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

// warnLoose reports allow rules of a project that nothing of its own stands before: they do nothing.
func (l *loader) warnLoose(d *document, list *RuleList, path string) {
	for _, i := range list.Idle() {
		l.warn(list.Places[i], WarnUntrusted, join(path, list.Rules[i].Action), "allows something, which "+d.untrusted())
	}
}

// Idle returns which rules have no effect while the list is a project's that is not trusted: those that allow what no rule
// before them forbids or asks about.
func (r *RuleList) Idle() (idle []int) {
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

// value is the rule as explain shows it.
func ruleValue(r session.Rule) jsontext.Value {
	b := append([]byte(`{"action":`), quote(nil, r.Action)...)
	b = append(append(b, `,"resource":`...), quote(nil, r.Resource)...)
	b = append(append(b, `,"effect":`...), quote(nil, string(r.Effect))...)
	return append(b, '}')
}
