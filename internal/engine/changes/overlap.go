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
	out = joinOverlapping(out)
	slices.SortStableFunc(out, func(a, b CallChange) int { return cmp.Compare(a.end, b.end) })
	return out
}

// SumChanges returns the change of each file from before the first to after the last of the selected changes, by path.
// Files that are as before are left out.
func (l *Ledger) SumChanges(selected func(CallChange) bool) []session.FileChange {
	return dropUnchanged(sumChanges(l.SelectChanges(selected)))
}

// mayShare reports whether a command of the other session that is not selected may have made the change.
func (l *Ledger) mayShare(c CallChange, other session.ID, selected func(CallChange) bool) bool {
	theirs := l.beside[other]
	if theirs == nil || c.start == c.end { // the session was deleted
		return true
	}
	beside := theirs.listBeside(c, l.tree[other])
	return len(beside) == 0 || slices.ContainsFunc(beside, func(ran *command) bool {
		same := CallChange{Call: ran.Call, Origin: ran.origin, FileChange: c.FileChange}
		if l.tree[other] && selected(same) {
			return false
		}
		return ran.end == 0 || ran.failed || ran.paths[c.Path]
	})
}

// listBeside returns the commands of the ledger that ran at the same time as that of the change. A capture is recorded
// a moment after it was made, so with neighbors it returns the last command before and the first one after it as well.
// In a fork, whose events have positions of their own, there may be none.
func (l *Ledger) listBeside(c CallChange, neighbors bool) (out []*command) {
	var before, after *command
	for _, ran := range l.commands {
		switch {
		case ran.endPosition() <= c.start:
			before = ran
		case ran.start >= c.end:
			if after == nil {
				after = ran
			}
		default:
			out = append(out, ran)
		}
	}
	for _, near := range []*command{before, after} {
		if neighbors && near != nil {
			out = append(out, near)
		}
	}
	return out
}

// joinOverlapping joins the changes of a file by commands that ran at the same time.
func joinOverlapping(found []CallChange) (out []CallChange) {
	byStart := slices.Clone(found)
	slices.SortStableFunc(byStart, func(a, b CallChange) int { return cmp.Compare(a.start, b.start) })
	last := map[session.FilePath]int{} // the index in out of the newest change of a path by commands
	for _, c := range byStart {
		i, ok := last[c.Path]
		if c.start == c.end || !ok || out[i].end <= c.start {
			if c.start != c.end {
				last[c.Path] = len(out)
			}
			out = append(out, c)
			continue
		}
		joined := &out[i]
		joined.By, joined.Beside = AddIDs(joined.By, c.By), AddIDs(joined.Beside, c.Beside)
		joined.Failed, joined.Late = joined.Failed && c.Failed, joined.Late || c.Late
		joined.Guarded = joined.Guarded || c.Guarded
		if c.end > joined.end {
			joined.Call, joined.Origin, joined.After, joined.end = c.Call, c.Origin, c.After, c.end
		}
	}
	return out
}
