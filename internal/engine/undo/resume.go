package undo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
)

// Resume completes the staging or clearing of the session's revert that is under way, also one that a process which
// died began. Without one it does nothing. It does not end with ctx: files would be left between two states.
func (r Reverter) Resume(ctx context.Context, id session.ID) error {
	_, err := r.completePhase(ctx, id, false)
	return err
}

// completePhase is Resume. It also returns the files that stay as they are. replaced reports that another revert
// follows the one that it clears.
func (r Reverter) completePhase(
	ctx context.Context, id session.ID, replaced bool,
) (kept []session.KeptFile, err error) {
	s, err := r.Journal.ReadSession(ctx, id)
	if err != nil || s.Revert == nil || s.Revert.Phase == session.RevertDone {
		return nil, err
	}
	// Restoring is not interrupted: half of the files would be a state that no session had.
	ctx = context.WithoutCancel(ctx)
	if err := fault.PassPoint(ctx, fault.RevertPlanned); err != nil {
		return nil, err
	}
	back := s.Revert.Phase == session.RevertRestoring
	kept = r.restoreFiles(ctx, id, s.Revert.Files, back)
	if err := fault.PassPoint(ctx, fault.RevertRestored); err != nil {
		return nil, err
	}
	// Record the end of the phase with what was left, and the sum of the changes that remain.
	if back {
		cleared := &session.RevertCleared{Kept: kept, Total: r.countRemaining(ctx, id, nil), Replaced: replaced}
		return kept, r.Journal.AppendFacts(ctx, id, cleared)
	}
	done := &session.RevertAdvanced{Phase: session.RevertDone, Kept: kept}
	s.Apply(done)
	done.Total = r.countRemaining(ctx, id, s.Revert)
	return kept, r.Journal.AppendFacts(ctx, id, done)
}

// restoreFiles brings the files to their state after the revert or, if back, to that before it. It returns those that
// stay as they are, each with the reason and a copy of the content that it does not get.
func (r Reverter) restoreFiles(
	ctx context.Context, id session.ID, files []session.RevertedFile, back bool,
) (kept []session.KeptFile) {
	// Write the files. What one of them lost because another could not be written returns to it.
	steps := make([]session.FileChange, len(files))
	for i, f := range files {
		if steps[i] = f.AsChange(); back {
			steps[i].Before, steps[i].After = f.To, f.From
		}
	}
	failed := make([]error, len(steps))
	if r.Files != nil {
		r.Changes.ExcludeWrites(id, r.Files.Root(), steps)
		failed = r.Files.Restore(ctx, steps)
		r.putBack(ctx, steps, failed)
	}
	// Report those that were not written.
	for i, step := range steps {
		switch err := failed[i]; {
		case r.Files == nil:
			kept = append(kept, session.KeptFile{Path: step.Path, Reason: "snapshots are disabled here"})
		case err != nil:
			changed := errors.Is(err, session.ErrFileChanged)
			k := session.KeptFile{Path: step.Path, Conflict: changed, Reason: explainError(err), To: step.After}
			r.copyNotRestored(ctx, &k)
			kept = append(kept, k)
			r.Journal.Logger.Warn("a revert leaves a file as it is", "file", step.Path, "error", err)
		}
	}
	return kept
}

// copyNotRestored copies the content that a revert does not restore, so that it is in reach when the revert is final. A
// content that cannot be copied is left out.
func (r Reverter) copyNotRestored(ctx context.Context, k *session.KeptFile) {
	if k.To.Blob == "" || k.To.Blob == k.State.Blob || k.Copy != "" {
		return
	}
	copied, err := r.Files.CopyBlob(ctx, k.Path, k.To.Blob)
	if err != nil {
		r.Journal.Logger.Warn("cannot copy a content that is not restored", "file", k.Path, "error", err)
		return
	}
	k.Copy = copied
}

// explainError returns the text of an error of the file system for people, who see the name of the file before it.
func explainError(err error) string {
	switch {
	case errors.Is(err, fs.ErrExist):
		return "something else is in its place"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return "a directory of its path is a file now, or the file a directory"
	case strings.Contains(err.Error(), "path escapes from parent"): // os.Root has no value for it
		return "a link in its path leads out of the project"
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err.Error()
	}
	return err.Error()
}

// putBack reverses the steps that removed a content from its path if the step failed that writes this content to
// another path: it may have been the only copy. A reversed step counts as failed and is added to failed.
//
// It handles the failed steps one after the other, with those that it reverses: files that were moved in a chain return
// one by one.
func (r Reverter) putBack(ctx context.Context, steps []session.FileChange, failed []error) {
	var queue []int // of failed steps
	for i, err := range failed {
		if err != nil {
			queue = append(queue, i)
		}
	}
	// Find who removed the only copy of each content that could not be written, and reverse that.
	for ; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		lost := steps[i].After.Blob
		if lost == "" {
			continue
		}
		for j, other := range steps {
			if failed[j] != nil || other.Before.Blob != lost {
				continue
			}
			back := session.FileChange{Path: other.Path, Before: other.After, After: other.Before}
			failed[j] = fmt.Errorf("it holds the content of %s, which could not be restored", steps[i].Path)
			if err := r.Files.Restore(ctx, []session.FileChange{back})[0]; err != nil {
				failed[j] = fmt.Errorf("%w; putting it back failed: %w", failed[j], err)
			}
			queue = append(queue, j)
		}
	}
}
