package config

import "regexp"

// Command is a named prompt template. A template that is only text is read from untrusted files, as instructions are;
// one that runs a program, or replaces one of the user's own commands, needs trust (docs/adr/0009).
type Command struct {
	Template    string    `json:"template" doc:"the prompt; $ARGUMENTS, $1 and so on are replaced by the text typed after the name"`
	Description string    `json:"description"`
	Agent       string    `json:"agent" scope:"trusted" doc:"agent that runs the command"`
	Model       ModelName `json:"model"`
	Variant     string    `json:"variant"`
	Subtask     *bool     `json:"subtask" doc:"run in a child session"`
}

var shellLine = regexp.MustCompile("!`([^`]+)`")

// ShellLines returns the shell commands in a template as index pairs: for each the span with its marks, then without.
func ShellLines(template string) [][]int { return shellLine.FindAllStringSubmatchIndex(template, -1) }

// commandReach returns the reach of a command's definition.
func (l *loader) commandReach(name string, n *node) reach {
	if l.own[name] || len(ShellLines(n.get("template").textValue())) > 0 {
		return reachTrusted
	}
	return reachProject
}

// ownCommands returns the names of the commands in the user's documents and in trusted documents below them. Invalid
// documents are skipped here; addDocument reports them.
func ownCommands(below *node, docs []*document) map[string]bool {
	names := map[string]bool{}
	for _, m := range below.get("command").allMembers() {
		names[m.key] = m.value.doc.scope != scopeProject
	}
	for _, d := range docs {
		if copied := *d; d.scope == scopeUser && copied.parse() == nil && copied.normalizeSpellings() == nil {
			for _, m := range copied.root.get("command").allMembers() {
				names[m.key] = true
			}
		}
	}
	return names
}

// IsUntrustedCommand reports whether the command's template comes from untrusted files, so that nothing in it may run.
func (c *Config) IsUntrustedCommand(command string) bool {
	template := c.root.get("command").get(command).get("template")
	return template != nil && template.doc.scope == scopeProject
}

// UntrustedCommandReason returns why a project's command has no effect until the project is trusted; "" if it has one.
func (c *Config) UntrustedCommandReason(command string) string {
	for _, w := range c.Warnings {
		if w.Kind == WarnUntrusted && w.Key == "command."+command {
			return w.Message
		}
	}
	return ""
}
