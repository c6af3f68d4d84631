package changes

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
		out[i].Beside = slices.DeleteFunc(slices.Clone(c.Beside), func(other session.ID) bool {
			return !l.mayShare(c, other, selected)
		})
	}
	out = slices.DeleteFunc(joinOverlapping(out), func(c CallChange) bool { return l.isTransient(c, selected) })
	slices.SortStableFunc(out, func(a, b CallChange) int { return cmp.Compare(a.end, b.end) })
	l.bridgeChanges(out, selected)
	return out
}

// bridgeChanges lets a change lead to the next one of its file if a selected command ran across the end of the first or
// the beginning of the second: it made the difference between them, of which its own captures show nothing.
func (l *Ledger) bridgeChanges(found []CallChange, selected func(CallChange) bool) {
	last := map[session.FilePath]int{}
	for i, c := range found {
		before, ok := last[c.Path]
		last[c.Path] = i
		if !ok || found[before].After == c.Before {
			continue
		}
		isBridge := slices.ContainsFunc(l.commands, func(ran *command) bool {
			isAcross := ran.start < found[before].end && ran.end > found[before].end || ran.start < c.start && ran.end > c.start
			return isAcross && !ran.failed && !ran.paths[c.Path] &&
				selected(CallChange{Call: ran.Call, Origin: ran.origin, FileChange: c.FileChange})
		})
		if isBridge {
			found[before].After = c.Before
		}
	}
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
	if theirs == nil || c.start == c.end { // the session was deleted, or the beginning is not recorded
		return true
	}
	isSelected := func(call, origin Call) bool {
		return l.tree[other] && selected(CallChange{Call: call, Origin: origin, FileChange: c.FileChange})
	}
	beside, isNear := theirs.listBeside(c)
	wrote := l.tree[other] && isNear
	for _, w := range theirs.Changes {
		if w.start == w.end && w.start > c.start && w.start < c.end {
			if wrote = true; w.Path == c.Path && !isSelected(w.Call, w.Origin) {
				return true
			}
		}
	}
	return len(beside) == 0 && !wrote || slices.ContainsFunc(beside, func(ran *command) bool {
		if isSelected(ran.Call, ran.origin) {
			return false
		}
		return ran.end == 0 || ran.failed || ran.paths[c.Path] || ran.start < c.start || ran.end > c.end
	})
}

// listBeside returns the commands of the ledger that ran at the same time as that of the change. isNear reports whether
// others ran before or after it, one of which may have met it just at its beginning or end. In a fork, whose events
// have positions of their own, that says nothing.
func (l *Ledger) listBeside(c CallChange) (out []*command, isNear bool) {
	for _, ran := range l.commands {
		if ran.endPosition() <= c.start || ran.start >= c.end {
			isNear = true
		} else {
			out = append(out, ran)
		}
	}
	return out, isNear
}

// joinOverlapping joins the changes of a file by commands that ran at the same time, and by file tools meanwhile.
func joinOverlapping(found []CallChange) (out []CallChange) {
	byStart := slices.Clone(found)
	slices.SortStableFunc(byStart, func(a, b CallChange) int { return cmp.Compare(a.start, b.start) })
	last := map[session.FilePath]int{} // the index in out of the newest change of a path by commands
	for _, c := range byStart {
		i, ok := last[c.Path]
		if !ok || out[i].end <= c.start {
			if c.start != c.end {
				last[c.Path] = len(out)
			}
			out = append(out, c)
			continue
		}
		joined := &out[i]
		joined.By, joined.Beside = AddIDs(joined.By, c.By), AddIDs(joined.Beside, c.Beside)
		joined.Failed, joined.Guarded = joined.Failed && c.Failed, joined.Guarded || c.Guarded
		if c.end > joined.end {
			joined.Late = c.Late // of the last one: until it ended, the session was at work
			joined.Call, joined.Origin, joined.After, joined.end = c.Call, c.Origin, c.After, c.end
		}
	}
	return out
}

// isTransient reports whether a selected command began before the change, ended after it, and left the file as it was:
// the change is a part of what that command did and undid.
func (l *Ledger) isTransient(c CallChange, selected func(CallChange) bool) bool {
	return c.start != c.end && slices.ContainsFunc(l.commands, func(ran *command) bool {
		covers := ran.start < c.start && ran.end > c.end && !ran.failed && !ran.paths[c.Path]
		return covers && selected(CallChange{Call: ran.Call, Origin: ran.origin, FileChange: c.FileChange})
	})
}
