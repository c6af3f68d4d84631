package config

import (
	"path/filepath"
	"regexp"

	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/location/config/upgrade"
)

var shellLine = regexp.MustCompile("!`([^`]+)`")

// ShellLines returns the shell commands in a template as index pairs: for each the span with its marks, then without.
func ShellLines(template string) [][]int { return shellLine.FindAllStringSubmatchIndex(template, -1) }

// commandScope returns the last scope whose documents may define a command.
func (l *loader) commandScope(name string, n *document.Node) document.Layer {
	if l.own[name] || len(ShellLines(n.Get("template").TextValue())) > 0 {
		return document.LayerTrusted
	}
	return document.LayerProject
}

// ownCommands returns the names of the commands in the user's documents and in trusted documents below them. Invalid
// documents are skipped here; addDocument reports them.
func ownCommands(below *document.Node, docs []*document.Document) map[string]bool {
	names := map[string]bool{}
	for _, m := range below.Get("command").AllMembers() {
		names[m.Key] = m.Value.Doc.Layer != document.LayerProject
	}
	for _, d := range docs {
		if copied := *d; d.Layer == document.LayerUser && copied.Parse() == nil {
			if _, err := upgrade.Apply(&copied); err != nil || copied.NormalizeSpellings() != nil {
				continue
			}
			for _, m := range copied.Root.Get("command").AllMembers() {
				names[m.Key] = true
			}
		}
	}
	return names
}

// IsUntrustedCommand reports whether the command's template comes from untrusted files, so that nothing in it may run.
func (c *Config) IsUntrustedCommand(command string) bool {
	template := c.root.Get("command").Get(command).Get("template")
	return template != nil && template.Doc.Layer == document.LayerProject
}

// UntrustedCommandReason returns why a project's command has no effect until the project is trusted; "" if it has one.
func (c *Config) UntrustedCommandReason(command string) string {
	if w := c.findUntrusted("command." + command); w != nil {
		return w.Message
	}
	return ""
}

// UntrustedStartReason says that the command with which a project's file prepares worktrees has no effect until the project
// is trusted; "" if there is none, or it has.
func (c *Config) UntrustedStartReason() string {
	for _, key := range []string{"worktree.start", "worktree"} {
		if w := c.findUntrusted(key); w != nil {
			return "worktree.start of " + filepath.Base(w.File) + " " + w.Message
		}
	}
	return ""
}

// findUntrusted returns the warning about a key that has no effect until the project is trusted; nil without one.
func (c *Config) findUntrusted(key string) *Warning {
	for i, w := range c.Warnings {
		if w.Kind == WarnUntrusted && w.Key == key {
			return &c.Warnings[i]
		}
	}
	return nil
}
