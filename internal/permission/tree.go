package permission

import (
	"path"

	"github.com/cairn-dev/cairn/internal/session"
)

// Tree is a directory that a command reads recursively.
type Tree struct {
	Dir   string                            // resource
	Files func() (files []string, all bool) // the resources of its files; all is false if there are too many
}

// decideTree decides about reading the files below the directory: about each of them, or, if there are too many, about
// any file there.
func decideTree(layers []Layer, approvals []session.Rule, t Tree) Decision {
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
