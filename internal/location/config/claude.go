package config

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/session"
)

// claudeTools are the permission actions of Claude Code's tools, by lower-case name.
var claudeTools = map[string]string{
	"read": "read", "notebookread": "read", "edit": "edit", "multiedit": "edit", "write": "edit", "notebookedit": "edit",
	"patch": "edit", "apply_patch": "edit", "bash": "bash", "bashoutput": "bash", "killshell": "bash", "killbash": "bash",
	"shell": "bash", "glob": "glob", "grep": "grep", "ls": "list", "list": "list", "webfetch": "webfetch",
	"websearch": "websearch", "task": "task", "agent": "task", "todowrite": "todowrite", "todoread": "todowrite",
	"skill": "skill", "question": "question", "askuserquestion": "question", "exitplanmode": "plan_exit",
}

// claudeKeys are keys of Claude Code's agents and commands that are not used. They must not become request options.
var claudeKeys = []string{
	"allowed-tools", "argument-hint", "background", "disable-model-invocation", "effort", "hooks", "initialPrompt",
	"isolation", "maxTurns", "mcpServers", "memory", "permissionMode", "skills", "user-invocable",
}

// claudeReader reads files in the form of Claude Code and reports what it cannot convert.
type claudeReader struct {
	addWarning     func(at document.Position, kind WarningKind, key, message string)
	resolvePattern func(action, pattern string) string // of the form of Claude Code, in that of cairn's rules
}

func (l *loader) newClaudeReader() claudeReader {
	return claudeReader{l.addWarning, l.resolveClaudePattern}
}

// resolveClaudePattern returns the pattern of a rule for what a pattern of Claude Code matches: "git:*" for commands
// that begin with git, "./a" and "~/a" for files, "domain:a.b" for addresses. A pattern that matches no resource would
// allow what it is to deny.
func (l *loader) resolveClaudePattern(action, pattern string) string {
	if host, ok := strings.CutPrefix(pattern, "domain:"); ok && action == "webfetch" {
		return "*" + host + "*"
	}
	pattern = strings.ReplaceAll(pattern, ":*", " *")
	return l.suggestPattern(session.Rule{Action: action, Resource: l.expandResource(action, pattern)})
}

// convertFile converts the Markdown file of an agent or command from the form of Claude Code. What it cannot convert
// is removed and reported.
func (r claudeReader) convertFile(d *document.Document) {
	part := d.Part
	if part == document.PartMode {
		part = document.PartAgent
	}
	// Only documents of one entry have Claude's fields.
	fields := d.Root.Get(part).Get(d.Entry)
	if d.Part == "" || fields == nil {
		return
	}
	// The mode plan forbids changes: add the tools that make them to those that are forbidden.
	if fields.Get("permissionMode").TextValue() == "plan" {
		names := &document.Node{Kind: '[', Doc: d, Offset: fields.Get("permissionMode").Offset}
		names.Items = []*document.Node{{Kind: '"', Text: "Edit, Bash"}}
		if denied := fields.Get("disallowedTools"); denied != nil {
			names.Items = append(append(names.Items, denied), denied.Items...)
		}
		fields.Set("disallowedTools", names)
	}
	// The other keys have no effect here.
	for _, key := range claudeKeys {
		if v := fields.RemoveMember(key); v != nil {
			r.addWarning(v.FindPosition(), WarnUnused, part+"."+d.Entry+"."+key,
				"is a key of Claude Code that has no effect in cairn")
		}
	}
}

// toolName is one tool of a list, with the pattern in its parentheses. The pattern may have parentheses of one level. An
// opening parenthesis without its pattern is the third group.
var toolName = regexp.MustCompile(`([^\s,()]+)(?:\(((?:[^()]|\([^()]*\))*)\)|(\())?`)

// readToolNames reads an agent's tools in the form of Claude Code: names in a text or a list, which are the only ones
// that the agent has. A tool with a pattern, such as Bash(git diff:*), asks for what matches it.
func (r claudeReader) readToolNames(list *RuleList, n *document.Node, path string) {
	patterns := r.splitToolNames(n, path, "")
	if patterns["*"] != nil {
		return
	}
	for _, action := range slices.Compact(slices.Sorted(maps.Values(claudeTools))) {
		if slices.Contains(patterns[action], "*") {
			continue
		}
		list.add(n, session.Rule{Action: action, Resource: "*", Effect: session.Deny})
		for _, p := range patterns[action] {
			list.add(n, session.Rule{Action: action, Resource: p, Effect: session.Ask})
		}
	}
}

// denyToolNames denies the tools that n names in the form of Claude Code.
func (r claudeReader) denyToolNames(list *RuleList, n *document.Node, path string) {
	patterns := r.splitToolNames(n, path, "*")
	for _, action := range slices.Sorted(maps.Keys(patterns)) {
		for _, p := range patterns[action] {
			list.add(n, session.Rule{Action: action, Resource: p, Effect: session.Deny})
		}
	}
}

// splitToolNames returns the patterns by action that a text or a list of tools names, and reports unknown tools. A tool
// without a pattern has "*", one whose pattern cannot be read has unreadable; "" leaves it out.
func (r claudeReader) splitToolNames(n *document.Node, path, unreadable string) map[string][]string {
	// Join the items of a list: each can name several tools, like a text.
	out := map[string][]string{}
	text := n.Text
	for _, item := range n.Items {
		text += "," + item.Text
	}
	// Find the action and the pattern of each tool.
	var unknown []string
	for _, m := range toolName.FindAllStringSubmatch(text, -1) {
		name, pattern := m[1], cmp.Or(m[2], "*")
		action := claudeTools[strings.ToLower(name)]
		if name == "*" {
			action = "*"
		}
		if m[3] != "" {
			pattern = unreadable
		}
		if action == "" || pattern == "" {
			unknown = append(unknown, name+m[3])
			continue
		}
		out[action] = append(out[action], r.resolvePattern(action, pattern))
	}
	if len(unknown) > 0 {
		r.addWarning(n.FindPosition(), WarnIgnored, path,
			"names tools that cairn does not have: "+strings.Join(unknown, ", "))
	}
	return out
}
