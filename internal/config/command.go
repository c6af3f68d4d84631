package config

import "regexp"

// Command is a prompt with a name. One that is only words is read from anybody's files, as instructions are; what has
// something run, or takes the place of one of the user's own, needs trust (docs/adr/0009).
type Command struct {
	Template    string    `json:"template" doc:"the prompt; $ARGUMENTS, $1 and so on are what is typed behind the name"`
	Description string    `json:"description"`
	Agent       string    `json:"agent" scope:"trusted" doc:"the agent that does it"`
	Model       ModelName `json:"model"`
	Variant     string    `json:"variant"`
	Subtask     *bool     `json:"subtask" doc:"do it in a session of its own"`
}

var shellLine = regexp.MustCompile("!`([^`]+)`")

// ShellLines finds what the template of a command wants to have run: for each line where it stands with its marks, and then
// where it stands without.
func ShellLines(template string) [][]int { return shellLine.FindAllStringSubmatchIndex(template, -1) }

// commandReach says whose files may hold the command.
func (l *loader) commandReach(name string, n *node) reach {
	if l.own[name] || len(ShellLines(n.get("template").words())) > 0 {
		return reachTrusted
	}
	return reachProject
}

// ownCommands are the names of the commands in the user's documents, and of those that are trusted below them. What cannot
// be read has none: who takes the document says so.
func ownCommands(below *node, docs []*document) map[string]bool {
	names := map[string]bool{}
	for _, m := range below.get("command").all() {
		names[m.key] = m.value.doc.scope != scopeProject
	}
	for _, d := range docs {
		if copied := *d; d.scope == scopeUser && copied.parse() == nil && copied.shape() == nil {
			for _, m := range copied.root.get("command").all() {
				names[m.key] = true
			}
		}
	}
	return names
}

// Anybodys reports whether the text of the command is of files that nobody trusts: it is words, whatever stands in it.
func (c *Config) Anybodys(command string) bool {
	template := c.root.get("command").get(command).get("template")
	return template != nil && template.doc.scope == scopeProject
}

// Waits says why the command of a project's has no effect before the project is trusted; "" if there is none that waits.
func (c *Config) Waits(command string) string {
	for _, w := range c.Warnings {
		if w.Kind == WarnUntrusted && w.Key == "command."+command {
			return w.Message
		}
	}
	return ""
}
