package undo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// The reasons why a file stays as it is, or returns to a later state than that before the session's changes. People
// read them after the name of the file.
const (
	reasonChanged = "it is not as the session left it"
	reasonBetween = "others changed it between changes of the session; it returns to their version"
	reasonLate    = "it changed after the work had ended, while that was still being recorded, so you may have changed it"
	reasonBeside  = "a command of another session ran at the same time and may have changed it"
	reasonOutside = "it is outside of the worktree"
	reasonModule  = "it is a submodule"
	reasonGuarded = "it is a protected file that a command changed, which may start programs"
	reasonSpecial = "it is neither a file nor a link"
)

// copyPending is the Copy of a planned file until the copy is made. A preview shows it in place of the path of the
// copy.
const copyPending = "(a copy is kept)"

// rule decides what a revert does with a file. The chain, which is not empty, has the changes of the file that are
// taken back, oldest first; now is what the path holds. A nil rule is planFile.
type rule func(chain []CallChange, now session.PathState, force bool) filePlan

// addFiles adds the files of the changes to those that the revert changes or keeps. The changes are in the order in
// which they were made; now has what the paths hold, except for paths outside of the worktree. A file that is already
// as before the changes is in neither list.
//
// It groups the changes by path, lets the rule decide on each path alone, and at last looks at the files together
// (protectMoved).
func (rule rule) addFiles(
	out *session.Revert, found []CallChange, now map[session.FilePath]session.PathState, force bool,
) {
	if rule == nil {
		rule = planFile
	}
	// Group the changes by path.
	chains := map[session.FilePath][]CallChange{}
	for _, c := range found {
		chains[c.Path] = append(chains[c.Path], c)
	}
	// Plan each file; a protected file that a command changed stays unless it is forced.
	for _, path := range slices.Sorted(maps.Keys(chains)) {
		state, known := now[path]
		if !known {
			out.Kept = append(out.Kept, session.KeptFile{Path: path, Reason: reasonOutside})
			continue
		}
		p := rule(chains[path], state, force)
		if !force && isGuarded(chains[path]) && p.conflict == "" && p.to != state {
			p.conflict = reasonGuarded
		}
		addFile(out, path, state, p)
		if n := len(out.Files); n > 0 && out.Files[n-1].Path == path {
			for _, c := range chains[path] {
				out.Files[n-1].By = AddIDs(out.Files[n-1].By, c.By)
				out.Files[n-1].Perm = cmp.Or(out.Files[n-1].Perm, c.Perm)
			}
		}
	}
	protectMoved(out, found, force)
}

// isGuarded reports whether one of the changes is Guarded.
func isGuarded(chain []CallChange) bool {
	return slices.ContainsFunc(chain, func(c CallChange) bool { return c.Guarded })
}

// protectMoved makes a file stay if the session moved its content there from another path and the revert does not write
// that content to any path: it may be the only copy. A forced revert makes a copy instead. As a file that stays writes
// nothing, the search begins again with each.
func protectMoved(out *session.Revert, found []CallChange, force bool) {
	origin := originsOf(found)
	for again := true; again; {
		again = false
		// Collect the contents that the revert writes.
		returned := map[string]bool{"": true}
		for _, f := range out.Files {
			returned[f.To.Blob] = true
		}
		// Find a file that loses a moved content which is not among them.
		for i, f := range out.Files {
			from := origin[f.From.Blob]
			if returned[f.From.Blob] || from == "" || from == f.Path || f.Copy != "" {
				continue
			}
			if force {
				out.Files[i].Copy = copyPending
				continue
			}
			reason := fmt.Sprintf("it holds the content that was at %s, which is not restored", from)
			out.Kept = append(out.Kept, session.KeptFile{Path: f.Path, Conflict: true, Reason: reason, State: f.From})
			out.Files, again = slices.Delete(out.Files, i, i+1), true
			break
		}
	}
}

// addFile adds the file to those that the revert changes, or to those that stay.
func addFile(out *session.Revert, path session.FilePath, now session.PathState, p filePlan) {
	// Conflicts stay, and what is there already, or cannot be written as a file.
	switch {
	case p.conflict != "":
		out.Kept = append(out.Kept, session.KeptFile{
			Path: path, Conflict: true, Reason: p.conflict, State: now, To: p.to,
		})
	case now == p.to:
	case now.Blob == "" && !now.IsAbsent() && now.Mode != session.ModeSubmodule:
		out.Kept = append(out.Kept, session.KeptFile{Path: path, Reason: reasonSpecial, State: now})
	case now.Mode == session.ModeSubmodule || p.to.Mode == session.ModeSubmodule:
		out.Kept = append(out.Kept, session.KeptFile{Path: path, Reason: reasonModule, State: now})
	default:
		// The rest changes; a forced change keeps copies of what it overwrites.
		f := session.RevertedFile{Path: path, From: now, To: p.to, Reason: p.reason}
		change := f.AsChange()
		f.Status = change.Status()
		if p.backup {
			f.Copy, f.Others = copyPending, p.others
		}
		out.Files = append(out.Files, f)
	}
}

// originsOf returns the path at which the session found each content, by blob; "" for contents that the session made.
func originsOf(found []CallChange) map[string]session.FilePath {
	out := map[string]session.FilePath{}
	note := func(blob string, path session.FilePath) {
		if _, known := out[blob]; !known {
			out[blob] = path
		}
	}
	for len(found) > 0 {
		// Take the changes of one call together.
		n := 1
		for n < len(found) && found[n].Call == found[0].Call {
			n++
		}
		for _, c := range found[:n] { // befores first: a call that moves a content did not make it
			note(c.Before.Blob, c.Path)
		}
		for _, c := range found[:n] {
			if len(c.Beside) == 0 && !c.Late {
				note(c.After.Blob, "")
			}
			note(c.After.Blob, c.Path) // another session may have made it
		}
		found = found[n:]
	}
	return out
}

// filePlan is the planned change of a file by a revert.
type filePlan struct {
	to       session.PathState
	reason   string   // why to is not the state before the first change; "" if it is
	conflict string   // why the file stays as it is; "" if it does not
	backup   bool     // what the file holds must be copied first
	others   []string // the blobs of versions that others made between the changes, to be copied first; no duplicates
}

// planFile returns the state to which a file returns.
//
// It starts at the newest change that made the present state; without one the file is a conflict. It goes back as long
// as each change began with the state that the change before it left. If a change began with another state, or the
// change before it may have been made by another session, then others changed the file in between: it returns to their
// version, the state with which that change began.
func planFile(chain []CallChange, now session.PathState, force bool) filePlan {
	first := chain[0].Before
	out := filePlan{to: first}
	// Find the newest change that is still there, then the first gap in the chain before it.
	switch applied := newestApplied(chain, now); {
	case applied == 0:
		return filePlan{to: now}
	case applied < 0:
		out.conflict = reasonChanged
	case chain[applied-1].Late:
		out.conflict = reasonLate
	case len(chain[applied-1].Beside) > 0:
		out.conflict = reasonBeside
	default:
		for i := applied - 1; i > 0; i-- {
			last := chain[i-1]
			byOthers := (last.Late || len(last.Beside) > 0) && last.After == chain[i].Before
			if byOthers || !leadsTo(chain[:i], chain[i].Before) {
				out.to, out.reason = chain[i].Before, reasonBetween
				break
			}
		}
	}
	// With force it returns to the beginning, and copies keep the versions of others.
	if force && (out.to != first || out.conflict != "") {
		return filePlan{to: first, backup: true, others: listOthers(chain, now)}
	}
	return out
}

// listOthers returns the blobs of versions that others made between the changes of the chain, without what the file
// holds now.
func listOthers(chain []CallChange, now session.PathState) (out []string) {
	for i, c := range chain[1:] {
		blob := c.Before.Blob
		byOthers := chain[i].Late || len(chain[i].Beside) > 0 || !leadsTo(chain[:i+1], c.Before)
		if blob != "" && blob != now.Blob && blob != chain[0].Before.Blob && byOthers && !slices.Contains(out, blob) {
			out = append(out, blob)
		}
	}
	return out
}

// newestApplied returns how many changes of the chain led to the state: the number of the newest one whose result it
// is, counted from 1. It is 0 if the state is that before the first change, and -1 if it is neither. A failed change
// that would have changed nothing does not count.
func newestApplied(chain []CallChange, state session.PathState) int {
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

// leadsTo reports whether the changes left the file in the state. A change that failed, or that began with the state,
// may not have been made: the call or the process died before. Then the change before it counts.
func leadsTo(earlier []CallChange, state session.PathState) bool {
	for _, c := range slices.Backward(earlier) {
		if c.After == state {
			return true
		}
		if !c.Failed && c.Before != state {
			return false
		}
	}
	return earlier[0].Before == state
}
