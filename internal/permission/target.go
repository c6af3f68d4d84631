package permission

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/shell"
)

// Shell is the action whose resources are shell commands. Every command of a line must be allowed.
const Shell = "bash"

// target is a text that rules are matched against.
type target struct {
	text         string   // with holes for unknown text, if open
	plain        string   // the text without options that no rule is about, for rules that allow
	raw          string   // what was written, for rules without wildcards
	readings     []string // further texts for rules that deny or ask
	isCommand    bool     // the text is of a command
	exactOnly    bool     // only a rule without wildcards, or *, allows it
	runsAnything bool     // it may run any command, so that every rule that denies or asks may match
	reason       string   // why it is exact
}

// resolveTargets returns everything that must be allowed for the resource.
func resolveTargets(s Subject, resource string) (out []target) {
	if s.Action != Shell {
		return []target{{text: resource}}
	}
	if s.Command.Unreadable != "" {
		return []target{unreadableTarget(resource, s.Command.Unreadable)}
	}
	line, err := shell.Parse(resource)
	if err != nil {
		return []target{unreadableTarget(resource, err.Error())}
	}
	for _, c := range line.Commands {
		if !isInert(c) {
			out = append(out, commandTarget(c))
		}
	}
	if len(out) == 0 { // it changes directories only
		out = append(out, target{text: commandText(line.Commands[0]), raw: resource, isCommand: true})
	}
	return out
}

// unreadableTarget is a command line that is not understood: it may run anything.
func unreadableTarget(text, reason string) target {
	inner, _ := listInnerCommands(text)
	return target{
		text: text, raw: strings.TrimSpace(text), readings: inner, isCommand: true, exactOnly: true, runsAnything: true,
		reason: reason,
	}
}

// commandTarget is a command of a readable line.
func commandTarget(c shell.Command) target {
	t := target{text: commandText(c), raw: c.Text, isCommand: true, reason: exactReason(c)}
	bare := withoutDirectory(t.text)
	t.readings = []string{bare, strings.ToLower(bare), c.Text}
	if plain, _ := SplitGitOptions(c); len(plain.Words) < len(c.Words) {
		t.plain = commandText(plain)
		t.readings = append(t.readings, withoutDirectory(t.plain))
	}
	if t.exactOnly = t.reason != ""; !t.exactOnly {
		return t
	}
	var words []string
	for _, w := range c.Words {
		words = append(words, w.Text)
	}
	inner, all := listInnerCommands(strings.Join(words, " "))
	t.readings = append(t.readings, inner...)
	if name := programName(c); subcommands[name] != nil { // behind leading options
		for i := range words[1:] {
			t.readings = append(t.readings, name+" "+strings.Join(words[1+i:], " "))
		}
	}
	t.runsAnything = !all || holdsCommands(c)
	return t
}

// certainty says whether a rule matches a target.
type certainty int

const (
	noMatch certainty = iota
	possibleMatch
	certainMatch
)

// matchRule reports whether the rule matches the target. A rule that allows must match the whole text for every value
// of its holes; one that denies or asks matches if it does for some value of one of the texts.
func (t target) matchRule(r *session.Rule, action string) certainty {
	if !Match(r.Action, action) {
		return noMatch
	}
	if !t.isCommand {
		if Match(r.Resource, t.text) {
			return certainMatch
		}
		return noMatch
	}
	if matchesAll(r.Resource) {
		return certainMatch
	}
	if effectOf(r) == session.Allow {
		if t.matchesExactly(r) || !t.exactOnly && t.isCovered(r.Resource) {
			return certainMatch
		}
		return noMatch
	}
	return t.matchRestriction(r.Resource)
}

// isCovered reports whether the pattern matches the text for every value of its holes.
func (t target) isCovered(pattern string) bool {
	return coversText(pattern, t.text) || t.plain != "" && coversText(pattern, t.plain)
}

// matchRestriction matches the pattern of a rule that denies or asks.
func (t target) matchRestriction(pattern string) certainty {
	found := noMatch
	if t.runsAnything {
		found = possibleMatch
	}
	for _, reading := range append([]string{t.text}, t.readings...) {
		switch {
		case coversText(pattern, reading):
			return certainMatch
		case mayMatch(pattern, reading):
			found = possibleMatch
		}
	}
	return found
}

// matchesExactly reports whether the rule has no wildcards and is the text as written.
func (t target) matchesExactly(r *session.Rule) bool {
	if !isExact(r.Resource) {
		return false
	}
	return Match(r.Resource, t.raw) || coversText(r.Resource, t.text)
}

// matchesAll reports whether the pattern matches every text.
func matchesAll(pattern string) bool { return pattern != "" && strings.Trim(pattern, "*") == "" }

// isExact reports whether the pattern has no wildcards.
func isExact(pattern string) bool {
	plain := strings.NewReplacer(`\\`, "", `\*`, "", `\?`, "").Replace(pattern)
	return !strings.ContainsAny(plain, "*?")
}

// isExactlyAllowed reports whether rules without wildcards allow all of it.
func isExactlyAllowed(list []Decision) bool {
	return !slices.ContainsFunc(list, func(d Decision) bool {
		return d.Effect != session.Allow || d.Rule == nil || !isExact(d.Rule.Resource)
	})
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
