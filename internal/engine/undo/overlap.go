package undo

import (
	"cmp"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// SelectChanges returns the selected changes, oldest first, as those of one author: commands among them that ran at the
// same time make one change of a file together, from before the first to after the last of them. Beside keeps the
// sessions that may have made the change instead: those of a command that is not selected, ran at the same time, and
// changed the file too, or may have.
func (l *Ledger) SelectChanges(selected func(CallChange) bool) []CallChange {
	var out []CallChange
	for _, c := range l.Changes {
		if selected(c) {
			out = append(out, c)
		}
	}
	for i, c := range out {
		l.skipTransient(&out[i], selected)
		out[i].Beside = slices.DeleteFunc(slices.Clone(c.Beside), func(other session.ID) bool {
			return !l.mayShare(c, other, selected)
		})
	}
	out = joinOverlapping(slices.DeleteFunc(out, func(c CallChange) bool {
		return c.Before == c.After && !c.isInstant()
	}))
	slices.SortStableFunc(out, func(a, b CallChange) int { return cmp.Compare(a.end, b.end) })
	return out
}

// SumChanges returns the change of each file from before the first to after the last of the selected changes, by path.
// Files that are as before are left out.
func (l *Ledger) SumChanges(selected func(CallChange) bool) []session.FileChange {
	return dropUnchanged(sumChanges(l.SelectChanges(selected)))
}

// mayShare reports whether the other session may have made the change, by a command or a write that is not selected. A
// command that ran within the time of the change's own shows that it did not: it would have seen the file change.
func (l *Ledger) mayShare(c CallChange, other session.ID, selected func(CallChange) bool) bool {
	theirs := l.beside[other]
	if theirs == nil || c.isInstant() { // the session was deleted, or the beginning is not recorded
		return true
	}
	// The session of a selected change may be one that is merged into the ledger.
	isSelected := func(call, origin Call) bool {
		return l.tree[other] && selected(CallChange{Call: call, Origin: origin, FileChange: c.FileChange})
	}
	// A write of a file tool during the change's command, to the same file.
	beside, isNear := theirs.listBeside(c)
	wrote := l.tree[other] && isNear
	for _, w := range theirs.Changes {
		switch {
		case !w.isInstant():
		case c.contains(w.start):
			if wrote = true; w.Path == c.Path && !isSelected(w.Call, w.Origin) {
				return true
			}
		case l.tree[other] && w.start < c.start: // a write of the same work that was made as the command began
			wrote = true
		}
	}
	// A command that overlaps: it changed the file, what it changed is not known, or it did not run within the time of
	// the change's own. Without any trace of the other session's work, nothing excludes that it made the change.
	return len(beside) == 0 && !wrote || slices.ContainsFunc(beside, func(ran *command) bool {
		if isSelected(ran.Call, ran.origin) {
			return false
		}
		return ran.end == 0 || ran.failed || ran.paths[c.Path] || !c.isAround(ran.interval)
	})
}

// listBeside returns the commands of the ledger that ran at the same time as that of the change. isNear reports whether
// others ran before or after it, one of which may have met it just at its beginning or end. In a fork, whose events
// have positions of their own, that says nothing.
func (l *Ledger) listBeside(c CallChange) (out []*command, isNear bool) {
	for _, ran := range l.commands {
		if ran.wholeInterval().isBeside(c.interval) {
			out = append(out, ran)
		} else {
			isNear = true
		}
	}
	return out, isNear
}

// joinOverlapping joins the changes of a file by commands that ran at the same time, and by file tools meanwhile.
func joinOverlapping(found []CallChange) (out []CallChange) {
	// Visit the changes in the order of their beginnings.
	byStart := slices.Clone(found)
	slices.SortStableFunc(byStart, func(a, b CallChange) int { return cmp.Compare(a.start, b.start) })
	last := map[session.FilePath]int{} // the index in out of the newest change of a path by commands
	for _, c := range byStart {
		i, ok := last[c.Path]
		if !ok || out[i].end <= c.start {
			if !c.isInstant() {
				last[c.Path] = len(out)
			}
			out = append(out, c)
			continue
		}
		// The change began before the one at i ended: make one of both.
		joined := &out[i]
		joined.By, joined.Beside = AddIDs(joined.By, c.By), AddIDs(joined.Beside, c.Beside)
		joined.Failed, joined.Guarded = joined.Failed && c.Failed, joined.Guarded || c.Guarded
		joined.Perm = cmp.Or(joined.Perm, c.Perm)
		switch {
		case c.After == joined.After: // one of the two saw it when the work had not ended
			joined.Late = joined.Late && c.Late
		case c.end > joined.end: // until the last one ended, the work went on
			joined.Late = c.Late
		}
		if c.end > joined.end {
			joined.Call, joined.Origin, joined.After, joined.end = c.Call, c.Origin, c.After, c.end
		}
	}
	return out
}

// keepsFile reports whether the command is selected, as the author of the change c, and left the file of c as it found
// it.
func (c *command) keepsFile(change CallChange, selected func(CallChange) bool) bool {
	return !c.failed && !c.paths[change.Path] &&
		selected(CallChange{Call: c.Call, Origin: c.origin, FileChange: change.FileChange})
}

// skipTransient corrects the change c of a command that began or ended while another selected command ran that left the
// file as it found it. If c began or ended with a state that the file had only during that other command, the state
// that the other command left takes its place.
func (l *Ledger) skipTransient(c *CallChange, selected func(CallChange) bool) {
	if c.isInstant() {
		return
	}
	for _, ran := range l.commands {
		if !ran.isBeside(c.interval) || !ran.keepsFile(*c, selected) {
			continue
		}
		if ran.isAround(c.interval) {
			c.After = c.Before // c was made and undone within the other command
		}
		for _, t := range ran.transient {
			if t.Path == c.Path && ran.contains(c.start) && t.Before == c.Before {
				c.Before = t.After
			}
			if t.Path == c.Path && ran.contains(c.end) && t.Before == c.After {
				c.After = t.After
			}
		}
	}
}
