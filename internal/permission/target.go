package permission

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/shell"
)

// Shell is the action whose resources are shell commands. Every command in the text must be allowed, however it is
// quoted, nested or wrapped.
const Shell = "bash"

// target is a text that rules are matched against, with further texts for rules that deny or ask. The texts of commands
// have holes for unknown text.
type target struct {
	text     string
	readings []string
	reads    []string // files that the command may read, as resources with holes
	open     bool     // the texts may have holes
	anywhere bool     // the command writes to an unknown file
}

// resolveTargets returns everything that must be allowed for the resource. around are the commands of its script, in which
// variables have values.
func resolveTargets(s Subject, resource string, around []shell.Construct) []target {
	if s.Action != Shell {
		return []target{{text: resource}}
	}
	commands := shell.ParseScript(resource).Commands
	if i := slices.IndexFunc(around, func(c shell.Construct) bool { return c.Source == resource }); i >= 0 {
		commands = around[i : i+1]
	}
	var out []target
	for _, c := range commands {
		for _, p := range c.Parts {
			out = append(out, target{text: p.Text, readings: p.Readings, reads: readTargets(p.Reads, s.Command), open: true})
		}
		if c.Anywhere {
			out = append(out, target{text: c.Source, anywhere: true})
		}
	}
	if len(out) == 0 { // the text runs no command, so it is the only target
		out = append(out, target{text: resource, open: true})
	}
	return out
}

// certainty says whether a rule matches a target.
type certainty int

const (
	no certainty = iota
	maybe
	sure
)

// matchRule reports whether the rule matches the target. A rule that allows must match the whole text for every value of
// its holes; one that denies or asks matches if it does for some value of one of the texts.
func (t target) matchRule(r *session.Rule, action string) certainty {
	if !Match(r.Action, action) {
		return no
	}
	if !t.open {
		if Match(r.Resource, t.text) {
			return sure
		}
		return no
	}
	if coversText(r.Resource, t.text) {
		return sure
	}
	if effectOf(r) == session.Allow {
		return no
	}
	found := no
	for _, reading := range append([]string{t.text}, t.readings...) {
		switch {
		case coversText(r.Resource, reading) && reading != shell.Hole:
			return sure
		case mayMatch(r.Resource, reading):
			found = maybe
		}
	}
	return found
}
