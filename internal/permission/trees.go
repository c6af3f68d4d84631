package permission

import (
	"path"

	"github.com/cairn-dev/cairn/internal/session"
)

// Tree is a directory of which a command reads everything below.
type Tree struct {
	Dir   string                            // as a resource
	Maybe bool                              // it does so only for something that is not known
	Files func() (files []string, all bool) // of it that are read, as resources; not all if they are too many
}

// within decides about reading what is there below the directory: by the rules for each of the files, or, where they
// are too many, for any that may be there. Where it is not certain that it is read, what is denied asks.
func within(layers []Layer, approvals []session.Rule, t Tree) Decision {
	d := t.decide(layers, approvals)
	if t.Maybe && d.Effect == session.Deny {
		d.Effect, d.Possible, d.Firm = session.Ask, true, true
	}
	return d
}

func (t Tree) decide(layers []Layer, approvals []session.Rule) Decision {
	some := decide(layers, nil, read, target{text: path.Join(t.Dir, string(rune(hole))), open: true})
	if some.Effect == session.Allow || some.Effect == session.Deny && !some.Possible {
		return some
	}
	files, all := t.Files()
	worst := Decision{Effect: session.Allow}
	for _, file := range files {
		if d := decide(layers, approvals, read, target{text: file}); d.rank() > worst.rank() {
			worst = d
		}
	}
	if !all && some.rank() > worst.rank() {
		return some
	}
	return worst
}
