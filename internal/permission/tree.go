package permission

import (
	"path"

	"github.com/cairn-dev/cairn/internal/session"
)

// Tree is a directory that a command reads recursively.
type Tree struct {
	Action string                            // read, or external_directory for what links there lead to
	Dir    string                            // what the resources begin with, "" if that is not known
	Files  func() (files []string, all bool) // the resources; all is false if some are not known
}

// decideTree decides about the resources of the directory: about each of them, or, if some are not known, about any
// one.
func decideTree(layers []Layer, approvals []session.Rule, t Tree) Decision {
	some := decideTarget(layers, nil, t.Action, target{text: path.Join(t.Dir, string(rune(hole))), isCommand: true})
	if some.Effect == session.Allow || some.Effect == session.Deny && !some.Possible {
		return some
	}
	files, all := t.Files()
	worst := Decision{Effect: session.Allow}
	for _, file := range files {
		if d := decideTarget(layers, approvals, t.Action, target{text: file}); d.rankStrictness() > worst.rankStrictness() {
			worst = d
		}
	}
	if !all && some.rankStrictness() > worst.rankStrictness() {
		return some
	}
	return worst
}
