package opencode

import "github.com/cairn-dev/cairn/internal/session"

// summaryOf lists what the answers to the prompt changed.
func summaryOf(u *session.User) *UserSummary { return &UserSummary{Diffs: FileDiffsOf(u.Diffs)} }

// FileDiffsOf converts changes of files.
func FileDiffsOf(diffs []session.ChangedFile) []FileDiff {
	out := make([]FileDiff, len(diffs))
	for i, d := range diffs {
		out[i] = FileDiff{
			File: string(d.Path), Patch: d.Patch, Additions: d.Additions, Deletions: d.Deletions, Status: d.Status,
		}
	}
	return out
}

// revertedDiffs returns what the session did to the files that a revert restores: the reverse of the revert.
func revertedDiffs(r *session.Revert) []FileDiff {
	out := []FileDiff{}
	for _, f := range r.Files {
		back := session.FileChange{Path: f.Path, Before: f.To, After: f.From}
		out = append(out, FileDiff{
			File: string(f.Path), Additions: f.Deletions, Deletions: f.Additions, Status: back.Status(), Patch: f.Undone,
		})
	}
	return out
}
