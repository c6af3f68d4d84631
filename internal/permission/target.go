package permission

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/shell"
)

// Shell is the action whose resources are shell commands. Rules are about what the shell would run: each command in
// the text, however it is quoted, nested or wrapped, must be allowed.
const Shell = "bash"

// target is what rules are held against: a text, and other texts that rules which forbid or ask may know it by. The
// texts of commands have holes where they may be anything.
type target struct {
	text     string
	readings []string
	reads    []string // files that it may read besides, as resources with holes
	open     bool     // there may be holes
	anywhere bool     // it is a command that writes to a file of which nobody knows where it lies
}

// targets returns everything that has to be allowed for the resource. around are the commands of the script that it is
// one of, where variables have their values.
func targets(s Subject, resource string, around []shell.Command) []target {
	if s.Action != Shell {
		return []target{{text: resource}}
	}
	commands := shell.Parse(resource).Commands
	if i := slices.IndexFunc(around, func(c shell.Command) bool { return c.Source == resource }); i >= 0 {
		commands = around[i : i+1]
	}
	var out []target
	for _, c := range commands {
		for _, p := range c.Parts {
			out = append(out, target{text: p.Text, readings: p.Readings, reads: readTargets(p.Reads, s.Seen), open: true})
		}
		if c.Anywhere {
			out = append(out, target{text: c.Source, anywhere: true})
		}
	}
	if len(out) == 0 { // it runs nothing, so that there is only the text
		out = append(out, target{text: resource, open: true})
	}
	return out
}

// certainty is whether a rule is about a target.
type certainty int

const (
	no certainty = iota
	maybe
	sure
)

// about reports whether the rule is about the target. One that allows must match the text as a whole, whatever its
// holes become; one that forbids or asks counts as soon as one of the texts may become what it matches.
func (t target) about(r *session.Rule, action string) certainty {
	if !Match(r.Action, action) {
		return no
	}
	if !t.open {
		if Match(r.Resource, t.text) {
			return sure
		}
		return no
	}
	if covers(r.Resource, t.text) {
		return sure
	}
	if effect(r) == session.Allow {
		return no
	}
	found := no
	for _, reading := range append([]string{t.text}, t.readings...) {
		switch {
		case covers(r.Resource, reading) && reading != shell.Hole:
			return sure
		case mayMatch(r.Resource, reading):
			found = maybe
		}
	}
	return found
}
