package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/shell"
	"github.com/cairn-dev/cairn/internal/session"
)

// Shell is the action whose resources are shell commands. Every command of a line must be allowed.
const Shell = "bash"

// Outside is the action whose resources are directories outside of the Location.
const Outside = "external_directory"

// LocalFetch is the action of fetching from addresses of this machine and of private networks. A rule for every action
// does not allow it.
const LocalFetch = "webfetch_local"

// fileActions are the actions whose resources are paths.
var fileActions = []string{"read", "edit", "list", "glob", "grep", Outside}

// target is a text that rules are matched against.
type target struct {
	text       string   // what patterns match; a command's has a Placeholder for each * and ?
	written    []string // texts of a command that a rule without wildcards allows: as written, and its whole line
	readings   []string // further texts of a command, for rules that deny or ask
	isCommand  bool
	plain      bool   // patterns that allow apply to the command
	reads      bool   // the command only reads: see OnlyReads
	unconfined bool   // see CommandContext
	directory  string // the target is everything below it; text is one of the files
	reason     string // why the command is not plain
}

// resolveTargets returns the targets that must all be allowed for the resource: of a plain line each command that is
// not inert, of any other line the line as a whole.
func resolveTargets(s Subject, resource string) (out []target) {
	if s.Action != Shell {
		return []target{{text: resource}}
	}
	// A rule may spell the resource or its whole line.
	written := []string{strings.TrimSpace(resource)}
	if s.Command.Line != "" {
		written = append(written, strings.TrimSpace(s.Command.Line))
	}

	// A line that is not plain is one target; rules that deny or ask also see the commands that a parser finds in it.
	line, err := shell.Parse(resource)
	reason := s.Command.NotPlain
	if reason == "" && err != nil {
		reason = err.Error()
	}
	if reason != "" {
		t := target{text: written[0], written: written, isCommand: true, reason: reason}
		for _, command := range shell.FindCommands(resource) {
			t.readings = append(t.readings, listReadings(command)...)
		}
		return []target{t}
	}

	// A plain line is its commands.
	for _, c := range line.Commands {
		if !isInert(c) {
			t := newCommandTarget(c)
			t.written, t.unconfined = append([]string{c.Text}, written...), s.Command.Unconfined
			out = append(out, t)
		}
	}
	if len(out) == 0 { // it changes directories only
		out = append(out, target{text: commandText(line.Commands[0]), written: written, isCommand: true, plain: true})
	}
	return out
}

// newCommandTarget returns the target of a command of a plain line. The caller sets written and unconfined.
func newCommandTarget(c shell.Command) target {
	return target{
		text: commandText(c), readings: append(listReadings(commandText(c)), c.Text),
		isCommand: true, plain: true, reads: OnlyReads(c),
	}
}

// listReadings returns further texts of a command that rules which deny or ask match: without the directory of its
// program, that in lower case, and without the options before a command of git.
func listReadings(text string) []string {
	name, rest, more := strings.Cut(text, " ")
	if name = path.Base(name); more {
		name += " " + rest
	}
	return []string{name, strings.ToLower(name), withoutGitOptions(name)}
}

// commandText returns the text of a command that patterns match: its words without their quotes, joined by blanks; a
// word with a blank or an operator has single quotes.
func commandText(c shell.Command) string {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = quoteWord(w.Text)
	}
	return strings.Join(words, " ")
}

func quoteWord(s string) string {
	if s == "" {
		return "''"
	}
	if !strings.ContainsAny(s, " \t\n'\"\\;&|<>()`$") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// matchRule reports whether the rule matches the target.
func (t target) matchRule(r *session.Rule, action string) bool {
	allows := effectOf(r) == session.Allow
	switch {
	case !Match(r.Action, action), allows && action == LocalFetch && r.Action != action:
		return false
	case t.directory != "" && !allows:
		return mayMatchBelow(r.Resource, t.directory)
	case !t.isCommand && slices.Contains(fileActions, action):
		return MatchPath(r.Resource, t.text)
	case !t.isCommand, matchesAll(r.Resource):
		return Match(r.Resource, t.text)
	case allows:
		return t.matchesExactly(r) ||
			t.plain && (Match(r.Resource, t.text) || Match(r.Resource, withoutGitOptions(t.text)))
	}
	return Match(r.Resource, t.text) ||
		slices.ContainsFunc(t.readings, func(text string) bool { return Match(r.Resource, text) })
}

// matchesExactly reports whether the rule spells the text of the command or of its line.
func (t target) matchesExactly(r *session.Rule) bool {
	return isExact(r.Resource) &&
		slices.ContainsFunc(t.written, func(text string) bool { return Match(r.Resource, text) })
}

// mayMatchBelow reports whether a pattern may match a path below the directory.
func mayMatchBelow(pattern, dir string) bool {
	known := pattern
	if i := strings.IndexAny(pattern, `*?\`); i >= 0 {
		known = pattern[:i]
	}
	return strings.HasPrefix(known, dir+"/") || known != pattern && strings.HasPrefix(dir+"/", known)
}

// matchesAll reports whether the pattern matches every text.
func matchesAll(pattern string) bool { return pattern != "" && strings.Trim(pattern, "*") == "" }

// isExact reports whether the pattern has no wildcards.
func isExact(pattern string) bool {
	plain := strings.NewReplacer(`\\`, "", `\*`, "", `\?`, "").Replace(pattern)
	return !strings.ContainsAny(plain, "*?")
}

// CommandsOf returns the commands of a line that rules for commands are about, as resources, each once.
func CommandsOf(line shell.Line) (out []string) {
	for _, c := range line.Commands {
		if !isInert(c) && !slices.Contains(out, c.Text) {
			out = append(out, c.Text)
		}
	}
	return out
}

// isInert reports whether the command runs nothing that a rule could be about: cd to a directory, true and false,
// set -euo pipefail, command -v.
func isInert(c shell.Command) bool {
	switch c.Words[0].Source {
	case "true", "false", ":":
		return true
	case "command": // looks a program up
		return len(c.Words) == 3 && (c.Words[1].Text == "-v" || c.Words[1].Text == "-V") && c.Words[2].Literal
	case "set": // options that stop at errors or show what runs
		return !slices.ContainsFunc(c.Words[1:], func(w shell.Word) bool {
			return w.Text != "pipefail" && (strings.Trim(w.Text, "-euxo") != "" || len(w.Text) < 2 || w.Text[0] != '-')
		})
	case "cd":
		return len(c.Words) == 2 && c.Words[1].Literal && !strings.HasPrefix(c.Words[1].Text, "-")
	}
	return false
}
