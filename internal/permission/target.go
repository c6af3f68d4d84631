package permission

import (
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
}

// targets returns everything that has to be allowed for the resource.
func targets(action, resource string, seen Seen) []target {
	if action != Shell {
		return []target{{text: resource}}
	}
	var out []target
	for _, p := range shell.Parts(resource) {
		out = append(out, target{p.Text, p.Readings, readTargets(p.Reads, seen), true})
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
