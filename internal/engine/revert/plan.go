package revert

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/changes"
	"github.com/cairn-dev/cairn/internal/session"
)

// Reasons why a file stays as it is, for people.
const (
	reasonChanged = "it is not as the session left it"
	reasonBetween = "it was changed before the last change of the session, and returns to that"
	reasonBeside  = "a command of another session ran at the same time and may have changed it"
	reasonOutside = "it is outside of the worktree"
	reasonModule  = "it is a submodule"
	reasonSpecial = "it is neither a file nor a link"
)

// copyPending marks a file of which a copy must be kept, until there is one.
const copyPending = "(a copy is kept)"

// rule decides about a file, which has changes. A nil rule is planFile.
type rule func(chain []changes.CallChange, now session.PathState, force bool) filePlan

// addFiles fills in the files of the changes, which come in order, as the revert finds them: now is what the paths
// hold. A file that is already as before the changes is left out.
func (rule rule) addFiles(
	out *session.Revert, found []changes.CallChange, now map[session.FilePath]session.PathState, force bool,
) {
	if rule == nil {
		rule = planFile
	}
	chains := map[session.FilePath][]changes.CallChange{}
	for _, c := range found {
		chains[c.Path] = append(chains[c.Path], c)
	}
	for _, path := range slices.Sorted(maps.Keys(chains)) {
		state, known := now[path]
		if !known {
			out.Kept = append(out.Kept, session.KeptFile{Path: path, Reason: reasonOutside})
			continue
		}
		addFile(out, path, state, rule(chains[path], state, force))
	}
	protectMoved(out, found, force)
}

// protectMoved keeps files whose content the session found at another path, to which the revert does not return it: it
// may be the only copy.
func protectMoved(out *session.Revert, found []changes.CallChange, force bool) {
	origin := originsOf(found)
	for again := true; again; {
		again = false
		returned := map[string]bool{"": true}
		for _, f := range out.Files {
			returned[f.To.Blob] = true
		}
		for i, f := range out.Files {
			from := origin[f.From.Blob]
			if returned[f.From.Blob] || from == "" || from == f.Path || f.Copy != "" {
				continue
			}
			if force {
				out.Files[i].Copy = copyPending
				continue
			}
			reason := fmt.Sprintf("it holds what was at %s, and that is not reverted", from)
			out.Kept = append(out.Kept, session.KeptFile{Path: f.Path, Conflict: true, Reason: reason, State: f.From})
			out.Files, again = slices.Delete(out.Files, i, i+1), true
			break
		}
	}
}

// addFile adds the file to those that the revert changes, or that stay.
func addFile(out *session.Revert, path session.FilePath, now session.PathState, p filePlan) {
	switch {
	case p.conflict != "":
		out.Kept = append(out.Kept, session.KeptFile{Path: path, Conflict: true, Reason: p.conflict, State: now})
	case now == p.to:
	case now.Blob == "" && !now.IsAbsent() && now.Mode != session.ModeSubmodule:
		out.Kept = append(out.Kept, session.KeptFile{Path: path, Reason: reasonSpecial, State: now})
	case now.Mode == session.ModeSubmodule || p.to.Mode == session.ModeSubmodule:
		out.Kept = append(out.Kept, session.KeptFile{Path: path, Reason: reasonModule, State: now})
	default:
		f := session.RevertedFile{Path: path, From: now, To: p.to, Reason: p.reason}
		change := f.AsChange()
		f.Status = change.Status()
		if p.backup {
			f.Copy = copyPending
		}
		out.Files = append(out.Files, f)
	}
}

// originsOf returns where the session found contents; "" for those that it made.
func originsOf(found []changes.CallChange) map[string]session.FilePath {
	out := map[string]session.FilePath{}
	note := func(blob string, path session.FilePath) {
		if _, known := out[blob]; !known {
			out[blob] = path
		}
	}
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].Call == found[0].Call {
			n++
		}
		for _, c := range found[:n] { // a call can move a content: it was there before it is there
			note(c.Before.Blob, c.Path)
		}
		for _, c := range found[:n] {
			if len(c.Beside) == 0 {
				note(c.After.Blob, "")
			}
			note(c.After.Blob, c.Path) // another session may have made it
		}
		found = found[n:]
	}
	return out
}

// filePlan is what a revert makes of a file.
type filePlan struct {
	to       session.PathState
	reason   string // why it does not return to before the first change
	conflict string // why it stays
	backup   bool   // a copy of what it holds must be kept
}

// planFile finds out what a file returns to.
//
// The chain is followed from the change that left the file as it is now, backwards as long as each change began with
// what the one before left: where it did not, or where another session may have left it, the file was changed in
// between, and that content is the last one that is not ours.
func planFile(chain []changes.CallChange, now session.PathState, force bool) filePlan {
	first := chain[0].Before
	out := filePlan{to: first}
	switch at := newestApplied(chain, now); {
	case at == 0:
		return filePlan{to: now}
	case at < 0:
		out.conflict = reasonChanged
	case len(chain[at-1].Beside) > 0:
		out.conflict = reasonBeside
	default:
		for i := at - 1; i > 0; i-- {
			last := chain[i-1]
			theirs := len(last.Beside) > 0 && last.After == chain[i].Before
			if theirs || !leadsTo(chain[:i], chain[i].Before) {
				out.to, out.reason = chain[i].Before, reasonBetween
				break
			}
		}
	}
	if force && out != (filePlan{to: first}) {
		return filePlan{to: first, backup: true}
	}
	return out
}

// newestApplied returns the number of changes that have left the file in a state: of all changes the newest one whose
// result it is. 0: the file is as before the first change. -1: no change left it so.
func newestApplied(chain []changes.CallChange, state session.PathState) int {
	for i := len(chain) - 1; i >= 0; i-- {
		if chain[i].After == state && (!chain[i].Failed || chain[i].Before != state) {
			return i + 1
		}
		if chain[i].Before == state && i == 0 {
			return 0
		}
	}
	return -1
}

// leadsTo reports whether a change that began with the state follows the changes: the newest that was made left it so.
func leadsTo(earlier []changes.CallChange, state session.PathState) bool {
	for _, c := range slices.Backward(earlier) {
		if c.After == state {
			return true
		}
		if !c.Failed && c.Before != state { // else it was not made
			return false
		}
	}
	return earlier[0].Before == state
}
