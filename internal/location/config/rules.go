package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/session"
)

// takePermissions removes the rules from an object's members tools and permission, in that order: the older member
// tools is the weaker one. path is the key of the agent whose rules they are, "" for those of all. It returns nil if
// there are no rules.
//
// A later rule of a list wins over an earlier one, so the order of the steps decides which member wins.
func (l *loader) takePermissions(n *document.Node, path string) (*RuleList, error) {
	list := &RuleList{Source: n.Doc.Name, Project: n.Doc.IsProject()}
	list.Trusted = n.Doc.Layer == document.LayerTrusted && len(l.config.Unrun) == 0
	if n.Doc.Name == pluginDocument {
		list.Trusted = l.opts.Plugins.MayAllow
	}
	// The tools of cairn's and OpenCode's form, or of Claude Code's.
	tools := n.RemoveMember("tools")
	switch isAgent := path != ""; {
	case tools == nil || tools.Kind == 'n':
	case isAgent && (tools.Kind == '"' || tools.Kind == '['):
		l.newClaudeReader().readToolNames(list, tools, document.JoinKey(path, "tools"))
	default:
		if err := l.readToolRules(list, tools, document.JoinKey(path, "tools")); err != nil {
			return nil, err
		}
	}
	if denied := n.Get("disallowedTools"); path != "" && denied != nil {
		l.newClaudeReader().denyToolNames(list, n.RemoveMember("disallowedTools"), path+".disallowedTools")
	}
	// The permissions.
	if p := n.RemoveMember("permission"); p != nil {
		if err := l.readRules(list, p, document.JoinKey(path, "permission")); err != nil {
			return nil, err
		}
	}
	if len(list.Rules) == 0 {
		return nil, nil
	}
	if list.Project && !list.Trusted {
		l.warnIdleRules(n.Doc, list, document.JoinKey(path, "permission"))
	}
	return list, nil
}

// readRules reads the three forms of permissions: one effect, an object by action (V1), a list of rules (V2).
func (l *loader) readRules(list *RuleList, n *document.Node, path string) error {
	switch n.Kind {
	case '"':
		return l.addRule(list, n, path, session.Rule{Action: "*", Resource: "*"})
	case '{':
		for _, m := range n.Members {
			if err := l.readActionRules(list, m, document.JoinKey(path, m.Key)); err != nil {
				return err
			}
		}
		return nil
	case '[':
		return l.readRuleList(list, n, path)
	default:
		return l.keepError(
			n.Doc.NewError(
				n.Offset,
				path,
				`want "allow", "ask" or "deny", an object by action, or a list of rules, got %s`,
				n.DescribeKind(),
			),
		)
	}
}

// readActionRules reads what V1 says of one action: an effect, or effects by pattern.
func (l *loader) readActionRules(list *RuleList, m document.Member, path string) error {
	switch m.Value.Kind {
	case '"':
		return l.addRule(list, m.Value, path, session.Rule{Action: ActionName(m.Key), Resource: "*"})
	case '{':
		for _, p := range m.Value.Members {
			if err := l.addRule(list, p.Value, path+"["+p.Key+"]",
				session.Rule{Action: ActionName(m.Key), Resource: p.Key}); err != nil {
				return err
			}
		}
		return nil
	default:
		return l.keepError(
			m.Value.Doc.NewError(
				m.Value.Offset,
				path,
				`want "allow", "ask" or "deny", or an object of these by pattern, got %s`,
				m.Value.DescribeKind(),
			),
		)
	}
}

// readRuleList reads V2's [{action, resource, effect}]; a missing resource matches everything. With Options.All an
// invalid rule is skipped and its error kept.
func (l *loader) readRuleList(list *RuleList, n *document.Node, path string) error {
	for _, item := range n.Items {
		if item.Kind != '{' {
			if err := l.keepError(item.Doc.NewError(item.Offset, path, "want rules {action, resource, effect}, got %s",
				item.DescribeKind())); err != nil {
				return err
			}
			continue
		}
		// Read the action and the resource.
		act, err := readRuleText(item, path, "action")
		resource, resourceErr := readRuleText(item, path, "resource")
		if err = cmp.Or(err, resourceErr); err != nil {
			if err := l.keepError(err); err != nil {
				return err
			}
			continue
		}
		// Read the effect.
		if item.Get("action") == nil || item.Get("effect") == nil {
			if err := l.keepError(item.Doc.NewError(item.Offset, path,
				"want rules {action, resource, effect}; action or effect is missing")); err != nil {
				return err
			}
			continue
		}
		if err := l.addRule(list, item.Get("effect"), document.JoinKey(path, "effect"),
			session.Rule{Action: ActionName(act), Resource: resource}); err != nil {
			return err
		}
	}
	return nil
}

// readRuleText returns the text of a rule's member, "*" without one.
func readRuleText(rule *document.Node, path, key string) (string, error) {
	v := rule.Get(key)
	switch {
	case v == nil:
		return "*", nil
	case v.Kind != '"' || v.Text == "":
		return "", v.Doc.NewError(v.Offset, document.JoinKey(path, key), "want a string, got %s", v.DescribeKind())
	}
	return v.Text, nil
}

// readToolRules reads {tool: true or false}.
func (l *loader) readToolRules(list *RuleList, n *document.Node, path string) error {
	if n.Kind != '{' {
		return l.keepError(
			n.Doc.NewError(n.Offset, path, "want an object of tools with true or false, got %s", n.DescribeKind()),
		)
	}
	for _, m := range n.Members {
		if m.Value.Kind != 't' && m.Value.Kind != 'f' {
			if err := l.keepError(n.Doc.NewError(m.Value.Offset, document.JoinKey(path, m.Key), "want true or false, got %s",
				m.Value.DescribeKind())); err != nil {
				return err
			}
			continue
		}
		effect := session.Deny
		if m.Value.Kind == 't' {
			effect = session.Allow
		}
		list.add(m.Value, session.Rule{Action: ActionName(m.Key), Resource: "*", Effect: effect})
	}
	return nil
}

// addRule adds r with the effect that n names.
func (l *loader) addRule(list *RuleList, n *document.Node, path string, r session.Rule) error {
	switch effect := session.Effect(n.Text); {
	case n.Kind == '"' && (effect == session.Allow || effect == session.Ask || effect == session.Deny):
		r.Resource, r.Effect = l.expandResource(r.Action, r.Resource), effect
		if better := l.suggestPattern(r); better != r.Resource {
			l.addWarning(n.FindPosition(), WarnUnmatched, path, fmt.Sprintf("has no effect: %q matches no path; write %q",
				r.Resource, better))
		}
		list.add(n, r)
		return nil
	default:
		return l.keepError(n.Doc.NewError(n.Offset, path, `want "allow", "ask" or "deny", got %s`, n.FormatExcerpt()))
	}
}

func (r *RuleList) add(n *document.Node, rule session.Rule) {
	r.Rules = append(r.Rules, rule)
	r.Positions = append(r.Positions, n.FindPosition())
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

// suggestPattern returns the rule's pattern, or a better one if its own matches no path: paths of rules are compared
// relative to the project's root, without "." and "..", and a directory has no slash at its end. Patterns of rules that
// are not for files are returned as they are.
func (l *loader) suggestPattern(r session.Rule) string {
	isFile := r.Action == "read" || r.Action == "edit" || r.Action == "list"
	if !isFile && r.Action != "external_directory" {
		return r.Resource
	}
	// Write the path as paths are compared.
	out := filepath.ToSlash(filepath.Clean(r.Resource))
	if rel, inside := l.inProject(out); isFile && inside && filepath.IsAbs(out) {
		out = rel
	}
	first, _, _ := strings.Cut(out, "/")
	if !filepath.IsAbs(out) && (first == ".." || !isFile && !strings.ContainsAny(first, "*?")) {
		out = filepath.ToSlash(filepath.Join(l.opts.Directory, out))
	}
	// A pattern for a directory matches what is in it.
	switch {
	case out == r.Resource:
	case r.Resource == "":
		out = "*"
	case strings.HasSuffix(r.Resource, "/"):
		out += "/*"
	}
	return out
}

// warnIdleRules reports allow rules of a project that have no effect.
func (l *loader) warnIdleRules(d *document.Document, list *RuleList, path string) {
	kind, reason := WarnUntrusted, d.UntrustedReason()
	switch {
	case d.Name == pluginDocument:
		kind, reason = WarnUnrun, "has no effect: plugins may allow only what extensions.allow of your configuration lets them"
	case d.Layer == document.LayerTrusted:
		kind = WarnUnrun
		reason = "has no effect beside plugins, tools and hooks that do not run: see cairn trust --without-plugins"
	}
	for _, i := range list.IdleRules() {
		l.addWarning(
			list.Positions[i],
			kind,
			document.JoinKey(path, list.Rules[i].Action),
			"allows something, which "+reason,
		)
	}
}

// IdleRules returns the indexes of the rules that have no effect while the project may only tighten: those that allow
// what no earlier rule of the list denies or asks about.
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
	b := append([]byte(`{"action":`), document.AppendQuoted(nil, r.Action)...)
	b = append(append(b, `,"resource":`...), document.AppendQuoted(nil, r.Resource)...)
	b = append(append(b, `,"effect":`...), document.AppendQuoted(nil, string(r.Effect))...)
	return append(b, '}')
}
