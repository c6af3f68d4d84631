package undo

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/linediff"
	"github.com/cairn-dev/cairn/internal/session"
)

// The default bounds of diffs. Beyond maxDiffs files have neither lines nor patches, beyond the others no patch.
const (
	maxDiffs   = 1000      // files
	maxPatch   = 64 << 10  // bytes of the patch of one file
	maxPatches = 256 << 10 // bytes of all patches
)

// DiffFormat selects the form of patches. The zero value is OpenCode's: unified, with the whole file as context.
type DiffFormat struct {
	Git     bool // in git's form
	Context *int // lines around a change; nil for the whole file
	Limits  PatchLimits
}

// PatchLimits bound patches, in bytes: of one file, and of all. 0 is the default.
type PatchLimits struct{ File, All int }

// ReadSides returns the contents before and after a change, nil where there is no file. It is not ok if a content is no
// longer stored, or larger than linediff.MaxText, or if files is nil.
func ReadSides(ctx context.Context, files scope.Worktree, c session.FileChange) (before, after []byte, ok bool) {
	ok = files != nil
	read := func(s session.PathState) []byte {
		if !ok || s.IsAbsent() || s.Mode == session.ModeSubmodule {
			return nil
		}
		content, err := files.Read(ctx, s.Blob, linediff.MaxText)
		ok = err == nil
		return content
	}
	before, after = read(c.Before), read(c.After)
	return before, after, ok
}

// DescribeFiles returns the changes with the numbers of lines and, within the limits, the patches.
func (f DiffFormat) DescribeFiles(
	ctx context.Context, files scope.Worktree, changes []session.FileChange,
) []session.ChangedFile {
	around, limits := -1, PatchLimits{cmp.Or(f.Limits.File, maxPatch), cmp.Or(f.Limits.All, maxPatches)}
	if f.Context != nil {
		around = *f.Context
	}
	out := make([]session.ChangedFile, 0, len(changes))
	size := 0
	for _, c := range changes {
		changed := session.ChangedFile{Path: c.Path, Status: c.Status()}
		if len(out) < maxDiffs {
			if before, after, ok := ReadSides(ctx, files, c); ok {
				d := linediff.Compare(before, after, around)
				changed.Additions, changed.Deletions = d.Additions, d.Deletions
				if n := len(d.Hunks); n <= limits.File && size+n <= limits.All {
					changed.Patch = f.formatPatch(c, d)
					if f.Git && changesType(c) {
						changed.Patch = formatTypeChange(c, before, after, around)
					}
					size += n
				}
			}
		}
		out = append(out, changed)
	}
	return out
}

func (f DiffFormat) formatPatch(c session.FileChange, d linediff.Diff) string {
	if f.Git {
		return FormatGit(c, d)
	}
	return d.FormatPatch(string(c.Path))
}

// changesType reports whether a file becomes a link or the other way round.
func changesType(c session.FileChange) bool {
	wasLink, isLink := c.Before.Mode == session.ModeLink, c.After.Mode == session.ModeLink
	return c.Before.Mode != 0 && c.After.Mode != 0 && wasLink != isLink
}

// formatTypeChange returns the patch of a file that becomes a link, or the other way round: git knows only that one is
// deleted and the other one created.
func formatTypeChange(c session.FileChange, before, after []byte, around int) string {
	deleted := session.FileChange{Path: c.Path, Before: c.Before}
	created := session.FileChange{Path: c.Path, After: c.After}
	return FormatGit(deleted, linediff.Compare(before, nil, around)) +
		FormatGit(created, linediff.Compare(nil, after, around))
}

// FormatGit returns the patch of a change in git's form.
func FormatGit(c session.FileChange, d linediff.Diff) string {
	return d.FormatGit(
		string(c.Path),
		linediff.File{Blob: c.Before.Blob, Mode: c.Before.Mode},
		linediff.File{Blob: c.After.Blob, Mode: c.After.Mode},
	)
}

// CountChanges returns the number of lines and files of the selected changes, and those of each file for the first
// maxDiffs.
func (l *Ledger) CountChanges(
	ctx context.Context, files scope.Worktree, selected func(CallChange) bool,
) (total session.Changes, each []session.ChangedFile) {
	for _, c := range l.SumChanges(selected) {
		n := l.countLines(ctx, files, c)
		if len(each) < maxDiffs {
			each = append(each, session.ChangedFile{
				Path: c.Path, Status: c.Status(), Additions: n.additions, Deletions: n.deletions,
			})
		}
		total.Additions += n.additions
		total.Deletions += n.deletions
		total.Files++
	}
	return total, each
}

// countLines returns the lines that a change adds and removes, none if they cannot be read. It stores them in l.counts.
func (l *Ledger) countLines(ctx context.Context, files scope.Worktree, c session.FileChange) lines {
	key := [2]string{c.Before.Blob, c.After.Blob}
	if n, ok := l.counts[key]; ok {
		return n
	}
	before, after, ok := ReadSides(ctx, files, c)
	if !ok {
		return lines{}
	}
	d := linediff.Compare(before, after, 0)
	l.counts[key] = lines{d.Additions, d.Deletions}
	return l.counts[key]
}
