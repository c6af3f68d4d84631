package undo

import (
	"context"
	"crypto/sha1" //nolint:gosec // names a list of states
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/linediff"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// The bounds of a revert, and of the differences that it has.
const (
	maxDiff   = 128 << 10 // bytes of the whole difference
	maxStored = 64 << 20  // bytes of a content that is stored
	maxFiles  = 5000      // of which a state is read: more are an error

	linesOfContext = 3
)

// Plan returns the revert that StageRevert would stage with the files as they are now. It changes no file and no
// message, but stores contents. An unknown target is a *session.Error of code not-found.
func (r Reverter) Plan(ctx context.Context, id session.ID, t Target) (*session.Revert, error) {
	p, taken, err := r.findTarget(ctx, id, t)
	if err != nil {
		return nil, err
	}
	planned, err := r.planRange(ctx, id, p, taken)
	if err != nil {
		return nil, err
	}
	for _, f := range planned.Files {
		for i := range f.Others {
			f.Others[i] = copyPending
		}
	}
	return planned, nil
}

// CheckTarget returns a *session.Error of code not-found if the session does not have the target.
func (r Reverter) CheckTarget(ctx context.Context, id session.ID, t Target) error {
	_, _, err := r.findTarget(ctx, id, t)
	return err
}

// findTarget returns the point of the target and what a revert to it takes back.
func (r Reverter) findTarget(ctx context.Context, id session.ID, t Target) (p Point, taken revertRange, err error) {
	err = r.Journal.Store.View(ctx, func(rd store.Reader) error {
		s, err := store.FindSession(rd, id)
		if err != nil {
			return err
		}
		if p, err = t.findPoint(rd, s); err == nil {
			taken, err = readRange(rd, id, p)
		}
		return err
	})
	return p, taken, err
}

// planRange plans the revert of the range, whose point is p. The plan names what cannot be restored, too: files that
// stay (Kept), and calls some of whose changes are not known (Unknown).
func (r Reverter) planRange(ctx context.Context, id session.ID, p Point, taken revertRange) (*session.Revert, error) {
	out := &session.Revert{
		MessageID: p.MessageID, PartID: p.PartID, Exclusive: p.Exclusive, FilesOnly: !p.Messages,
		RequestID: p.requestID,
	}
	if !p.Files {
		return out, nil
	}
	// Read the changes, and name what is not known of them.
	selected := func(c CallChange) bool { return taken.contains(c.Origin) }
	found, gaps, err := r.Changes.ReadChanges(ctx, id, selected)
	if err != nil {
		return nil, err
	}
	if taken.hasCalls(math.MaxInt64) {
		out.Unknown = r.describeGaps(gaps, taken.contains, taken.hasCalls(taken.imported))
	}
	foreign, err := r.describeForeign(ctx, id, taken)
	if err != nil {
		return nil, err
	}
	out.Unknown = append(out.Unknown, foreign...)
	// Plan each file, and name the sessions that changed those in conflict.
	if err := r.planFiles(ctx, out, found, p.Force); err != nil {
		return nil, err
	}
	left, err := r.describeLeft(ctx, id, out, found)
	if err != nil {
		return nil, err
	}
	out.Unknown = append(out.Unknown, left...)
	return out, attributeConflicts(ctx, r.Journal, id, out)
}

// describeForeign names the subagents in the range whose changes are not known, for people: their sessions were
// deleted, or belong to the session that this one was forked from.
func (r Reverter) describeForeign(ctx context.Context, id session.ID, taken revertRange) (out []string, err error) {
	tasks := ListTasks(taken.messages)
	err = r.Journal.Store.View(ctx, func(rd store.Reader) error {
		for _, child := range slices.Sorted(maps.Keys(tasks)) {
			s, found, err := rd.Session(child)
			switch call := tasks[child].ID; {
			case err != nil:
				return err
			case !found:
				out = append(out, fmt.Sprintf("the call %s: the session of its subagent, %s, was deleted", call, child))
			case s.ParentID != id:
				out = append(out, fmt.Sprintf("the call %s: what its subagent changed belongs to the session %s, "+
					"which this one was forked from", call, s.ParentID))
			}
		}
		return nil
	})
	return out, err
}

// planFiles fills in the files of the revert, those that change and those that stay, from the changes to be taken back.
func (r Reverter) planFiles(ctx context.Context, out *session.Revert, found []CallChange, force bool) error {
	if r.Files == nil {
		return nil
	}
	// Collect the paths within the worktree.
	var paths []session.FilePath
	for _, c := range found {
		if !path.IsAbs(string(c.Path)) {
			paths = append(paths, c.Path)
		}
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) > maxFiles {
		return session.Errorf(
			session.CodeTooLarge,
			"the session changed %d files after that point, more than the %d that a revert restores; use git for the files "+
				"and revert the messages alone",
			len(paths),
			maxFiles,
		)
	}
	// Read what they hold now, and decide what becomes of each.
	states, err := r.Files.ReadStates(ctx, paths)
	if err != nil {
		return err
	}
	now := map[session.FilePath]session.PathState{}
	for i, p := range paths {
		now[p] = states[i]
	}
	r.rule.addFiles(out, found, now, force)
	r.describeFiles(ctx, out)
	return nil
}

// describeFiles stores the contents that the revert replaces, and fills in the differences. A file whose contents
// cannot be stored or read becomes one that stays as it is.
//
// Beside the files it computes a name for their present states (Snapshot) and their whole difference (Diff).
// Differences are cut at the bounds above; the numbers of lines are exact.
func (r Reverter) describeFiles(ctx context.Context, out *session.Revert) {
	var whole strings.Builder
	var size int
	before := sha1.New() //nolint:gosec // names a list of states
	planned := out.Files
	out.Files = nil
	for _, f := range planned {
		_, _ = fmt.Fprintf(before, "%o %s %s\x00", f.From.Mode, f.From.Blob, f.Path)
		// Store and read both sides; a failure is the reason why the file stays.
		if f.Perm == 0 && !f.From.IsAbsent() {
			f.Perm = r.Files.TightMode(f.Path)
		}
		from, to, err := r.readSides(ctx, &f)
		if err != nil {
			out.Kept = append(out.Kept, session.KeptFile{Path: f.Path, Reason: err.Error(), State: f.From})
			continue
		}
		// Leave out versions of others that are no longer stored: they cannot be copied.
		f.Others = slices.DeleteFunc(f.Others, func(blob string) bool {
			_, err := r.Files.Read(ctx, blob, maxStored)
			return err != nil
		})
		// Describe the difference, in both directions.
		d := linediff.Compare(from, to, linesOfContext)
		f.Additions, f.Deletions = d.Additions, d.Deletions
		patch := FormatGit(f.AsChange(), d)
		if size += len(patch); len(patch) <= maxPatch && size <= maxPatches {
			f.Patch = patch
			f.Undone = linediff.Compare(to, from, linesOfContext).FormatPatch(string(f.Path))
		}
		if whole.Len() <= maxDiff {
			whole.WriteString(patch)
		}
		out.Files = append(out.Files, f)
	}
	if len(out.Files) > 0 {
		out.Snapshot = hex.EncodeToString(before.Sum(nil))
	}
	out.Diff = strings.TrimSuffix(whole.String(), "\n")
	if len(out.Diff) > maxDiff {
		cut := strings.LastIndexByte(out.Diff[:maxDiff], '\n')
		out.Diff = out.Diff[:max(cut, 0)] + "\n(shortened)"
	}
}

// readSides stores the content that the revert replaces, and returns it and the content that it restores; nil for no
// file. The errors are reasons for people.
func (r Reverter) readSides(ctx context.Context, f *session.RevertedFile) (from, to []byte, err error) {
	if _, err := r.Files.Save(ctx, f.Path); err != nil {
		return nil, nil, fmt.Errorf("its present content cannot be stored: %w", err)
	}
	for _, side := range []struct {
		state session.PathState
		into  *[]byte
	}{{f.From, &from}, {f.To, &to}} {
		if side.state.Blob == "" {
			continue
		}
		content, err := r.Files.Read(ctx, side.state.Blob, maxStored)
		if err != nil {
			return nil, nil, fmt.Errorf("a content that it had cannot be read: %w", err)
		}
		*side.into = content
	}
	return from, to, nil
}
