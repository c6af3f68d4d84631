package revert

import (
	"context"
	"crypto/sha1" //nolint:gosec // names a list of states
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/changes"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/linediff"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// The bounds of what a staged revert shows.
const (
	maxDiff    = 128 << 10 // bytes of the whole difference
	maxPatch   = 64 << 10  // bytes of one file
	maxPatches = 256 << 10 // bytes of all files
	maxFiles   = 5000

	linesOfContext = 3
)

// Plan returns what StageRevert would do with the files as they are, without doing it.
func (r Reverter) Plan(ctx context.Context, id session.ID, t Target) (*session.Revert, error) {
	p, sc, err := r.findTarget(ctx, id, t)
	if err != nil {
		return nil, err
	}
	return r.planRange(ctx, id, p, sc)
}

// CheckTarget returns a *session.Error of code not-found if the session does not have the target.
func (r Reverter) CheckTarget(ctx context.Context, id session.ID, t Target) error {
	_, _, err := r.findTarget(ctx, id, t)
	return err
}

// findTarget finds the target and what comes after it.
func (r Reverter) findTarget(ctx context.Context, id session.ID, t Target) (p Point, sc revertRange, err error) {
	err = r.Journal.Store.View(ctx, func(rd store.Reader) error {
		s, err := store.FindSession(rd, id)
		if err != nil {
			return err
		}
		if p, err = t.findPoint(rd, s); err == nil {
			sc, err = readRange(rd, id, p)
		}
		return err
	})
	return p, sc, err
}

func (r Reverter) planRange(
	ctx context.Context, id session.ID, p Point, sc revertRange,
) (*session.Revert, error) {
	out := &session.Revert{
		MessageID: p.MessageID, PartID: p.PartID, Exclusive: p.Exclusive, FilesOnly: !p.Messages,
	}
	if !p.Files {
		return out, nil
	}
	if r.Files == nil && sc.hasCalls() {
		out.Unknown = append(out.Unknown, "snapshots are disabled here: what the calls changed is not known")
	}
	ledger, err := changes.ReadLedger(ctx, r.Journal.Store, id, max(sc.after-1, -1))
	if err != nil {
		return nil, err
	}
	ledger.Changes = slices.DeleteFunc(
		ledger.Changes,
		func(c changes.CallChange) bool { return !sc.contains(c.Call) },
	)
	for _, g := range ledger.Gaps {
		if sc.contains(g.Call) {
			out.Unknown = append(out.Unknown, fmt.Sprintf("the call %s: %s", g.CallID, g.Reason))
		}
	}
	if err := r.planFiles(ctx, out, ledger.Changes, p.Force); err != nil {
		return nil, err
	}
	return out, attributeConflicts(ctx, r.Journal, id, out)
}

// planFiles fills in the files of the revert.
func (r Reverter) planFiles(ctx context.Context, out *session.Revert, found []changes.CallChange, force bool) error {
	if r.Files == nil {
		return nil
	}
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

// describeFiles keeps the contents that the revert replaces, and shows the differences. A file whose contents are not
// available stays as it is.
func (r Reverter) describeFiles(ctx context.Context, out *session.Revert) {
	var whole strings.Builder
	var size int
	before := sha1.New() //nolint:gosec // see above
	planned := out.Files
	out.Files = nil
	for _, f := range planned {
		_, _ = fmt.Fprintf(before, "%o %s %s\x00", f.From.Mode, f.From.Blob, f.Path)
		from, to, err := r.readSides(ctx, &f)
		if err != nil {
			out.Kept = append(out.Kept, session.KeptFile{Path: f.Path, Reason: err.Error(), State: f.From})
			continue
		}
		d := linediff.Compare(from, to, linesOfContext)
		f.Additions, f.Deletions = d.Additions, d.Deletions
		patch := changes.FormatGit(f.AsChange(), d)
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

// readSides keeps the content that the revert replaces, and returns it with the content that it restores.
func (r Reverter) readSides(ctx context.Context, f *session.RevertedFile) (from, to []byte, err error) {
	const limit = 64 << 20
	if _, err := r.Files.Save(ctx, f.Path); err != nil {
		return nil, nil, fmt.Errorf("its content cannot be kept: %w", err)
	}
	for _, side := range []struct {
		state session.PathState
		into  *[]byte
	}{{f.From, &from}, {f.To, &to}} {
		if side.state.Blob == "" {
			continue
		}
		content, err := r.Files.Read(ctx, side.state.Blob, limit)
		if err != nil {
			return nil, nil, fmt.Errorf("its earlier content is not available: %w", err)
		}
		*side.into = content
	}
	return from, to, nil
}

// StageRevert stages the revert to a target in place of a staged one. An unknown target changes nothing.
func (r Reverter) StageRevert(ctx context.Context, id session.ID, t Target) (*session.Revert, error) {
	if err := r.Resume(ctx, id); err != nil {
		return nil, err
	}
	p, sc, err := r.findTarget(ctx, id, t)
	if err != nil {
		return nil, err
	}
	if err := r.Clear(ctx, id); err != nil {
		return nil, err
	}
	planned, err := r.planRange(ctx, id, p, sc)
	if err != nil {
		return nil, err
	}
	if err := r.stagePlan(ctx, id, planned); err != nil {
		return nil, err
	}
	s, err := r.Journal.ReadSession(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.Revert, nil
}

// stagePlan stages the revert that was planned: its plan becomes durable, then its files are restored.
func (r Reverter) stagePlan(ctx context.Context, id session.ID, planned *session.Revert) error {
	if err := r.keepCopies(ctx, planned); err != nil {
		return err
	}
	var blobs []string
	for _, f := range planned.Files {
		for _, s := range []session.PathState{f.From, f.To} {
			if s.Blob != "" {
				blobs = append(blobs, s.Blob)
			}
		}
	}
	if len(blobs) > 0 {
		planned.Phase = session.RevertApplying
		if err := r.Files.PinBlobs(ctx, id, blobs); err != nil {
			return err
		}
	}
	if err := r.Journal.AppendFacts(ctx, id, &session.RevertStaged{Revert: *planned}); err != nil {
		return err
	}
	return r.Resume(ctx, id)
}

// keepCopies keeps a copy of each file that the caller insists on, where other content would be lost.
func (r Reverter) keepCopies(ctx context.Context, planned *session.Revert) error {
	for i := range planned.Files {
		f := &planned.Files[i]
		if f.Copy == "" {
			continue
		}
		place, err := r.Files.BackupFile(ctx, f.Path)
		if err != nil {
			return fmt.Errorf("nothing was changed: keep a copy of %s: %w", f.Path, err)
		}
		f.Copy = place
	}
	return nil
}

// Resume completes what is under way with the session's revert.
func (r Reverter) Resume(ctx context.Context, id session.ID) error {
	s, err := r.Journal.ReadSession(ctx, id)
	if err != nil || s.Revert == nil || s.Revert.Phase == session.RevertDone {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := fault.Point(ctx, fault.RevertPlanned); err != nil {
		return err
	}
	back := s.Revert.Phase == session.RevertRestoring
	kept := r.restoreFiles(ctx, s.Revert.Files, back)
	if err := fault.Point(ctx, fault.RevertRestored); err != nil {
		return err
	}
	if back {
		return r.Journal.AppendFacts(ctx, id, &session.RevertCleared{Kept: kept, Total: r.countRemaining(ctx, id, nil)})
	}
	done := &session.RevertAdvanced{Phase: session.RevertDone, Kept: kept}
	s.Apply(done)
	done.Total = r.countRemaining(ctx, id, s.Revert)
	return r.Journal.AppendFacts(ctx, id, done)
}

// restoreFiles brings the files to their state after the revert, or back to before it, and returns those for which
// this was not possible.
func (r Reverter) restoreFiles(ctx context.Context, files []session.RevertedFile, back bool) (kept []session.KeptFile) {
	steps := make([]session.FileChange, len(files))
	for i, f := range files {
		if steps[i] = f.AsChange(); back {
			steps[i].Before, steps[i].After = f.To, f.From
		}
	}
	failed := make([]error, len(steps))
	if r.Files != nil {
		failed = r.Files.Restore(ctx, steps)
		r.putBack(ctx, steps, failed)
	}
	for i, step := range steps {
		switch err := failed[i]; {
		case r.Files == nil:
			kept = append(kept, session.KeptFile{Path: step.Path, Reason: "snapshots are disabled here"})
		case err != nil:
			kept = append(kept, session.KeptFile{Path: step.Path, Conflict: true, Reason: err.Error()})
			r.Journal.Logger.Warn("a file stays as it is", "file", step.Path, "error", err)
		}
	}
	return kept
}

// putBack reverses the steps that took away a content which another step could not bring to its place: it may have been
// the only copy.
func (r Reverter) putBack(ctx context.Context, steps []session.FileChange, failed []error) {
	for i := range steps {
		lost := steps[i].After.Blob
		if failed[i] == nil || lost == "" {
			continue
		}
		for j, other := range steps {
			if failed[j] != nil || other.Before.Blob != lost {
				continue
			}
			back := session.FileChange{Path: other.Path, Before: other.After, After: other.Before}
			failed[j] = fmt.Errorf("it holds what could not be brought back to %s", steps[i].Path)
			if err := r.Files.Restore(ctx, []session.FileChange{back})[0]; err != nil {
				failed[j] = fmt.Errorf("%w, and cannot return: %w", failed[j], err)
			}
		}
	}
}

// Clear takes the staged revert back. Without one it does nothing.
func (r Reverter) Clear(ctx context.Context, id session.ID) error {
	if err := r.Resume(ctx, id); err != nil {
		return err
	}
	s, err := r.Journal.ReadSession(ctx, id)
	if err != nil || s.Revert == nil {
		return err
	}
	if len(s.Revert.Files) == 0 {
		return r.Journal.AppendFacts(ctx, id, &session.RevertCleared{})
	}
	if err := r.Journal.AppendFacts(ctx, id, &session.RevertAdvanced{Phase: session.RevertRestoring}); err != nil {
		return err
	}
	return r.Resume(ctx, id)
}
