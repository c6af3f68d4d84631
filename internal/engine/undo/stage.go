package undo

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// StageRevert stages the revert to the target and returns it as it is staged: with the files that were restored. A
// staged revert is cleared first; the files that this leaves as they are, are in Kept of the result as well. An unknown
// target is a *session.Error of code not-found and changes nothing.
func (r Reverter) StageRevert(ctx context.Context, id session.ID, t Target) (*session.Revert, error) {
	if r.Files != nil {
		defer r.Files.HoldBlobs()()
	}
	// Complete what is half done, and find the target before anything changes.
	if err := r.Resume(ctx, id); err != nil {
		return nil, err
	}
	p, taken, err := r.findTarget(ctx, id, t)
	if err != nil {
		return nil, err
	}
	// Replace the staged revert by the new one. Clients are shown the new one only.
	before, err := r.Journal.ReadSession(ctx, id)
	if err != nil {
		return nil, err
	}
	kept, err := r.clear(ctx, id, true)
	if err != nil {
		return nil, err
	}
	planned, err := r.planRange(ctx, id, p, taken)
	if err == nil {
		err = r.stagePlan(ctx, id, planned)
	}
	s, readErr := r.Journal.ReadSession(ctx, id)
	switch {
	case readErr != nil:
		return nil, cmp.Or(err, readErr)
	case err != nil && before.Revert != nil && s.Revert == nil:
		// The replaced revert is gone, and clients still show it.
		return nil, errors.Join(err, r.Journal.AppendFacts(ctx, id, &session.RevertCleared{}))
	case err != nil:
		return nil, err
	}
	return nameNotBroughtBack(s.Revert, kept), nil
}

// nameNotBroughtBack adds the files that the reversal of the replaced revert left as they are to those that stay,
// except for files that the new revert has itself. It returns the revert.
func nameNotBroughtBack(staged *session.Revert, kept []session.KeptFile) *session.Revert {
	for _, k := range kept {
		inFiles := slices.ContainsFunc(staged.Files, func(f session.RevertedFile) bool { return f.Path == k.Path })
		inKept := slices.ContainsFunc(staged.Kept, func(f session.KeptFile) bool { return f.Path == k.Path })
		if !inFiles && !inKept {
			// It is no conflict: to force the new revert would not change the file.
			k.Conflict, k.Reason = false, "the revert before this one was not wholly reversed: "+k.Reason
			staged.Kept = append(staged.Kept, k)
		}
	}
	return staged
}

// stagePlan stages a planned revert: it makes the copies, pins the contents, stores the plan, and restores the files.
func (r Reverter) stagePlan(ctx context.Context, id session.ID, planned *session.Revert) error {
	// Secure the contents first, so that nothing is lost if the process ends in between.
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
	// Store the plan, then carry it out. A later process completes what this one does not.
	if err := r.Journal.AppendFacts(ctx, id, &session.RevertStaged{Revert: *planned}); err != nil {
		return err
	}
	_, err := r.completePhase(ctx, id, false)
	return err
}

// keepCopies copies the contents that the forced revert would lose, and replaces copyPending, and the blobs of the
// versions of others, by the paths of the copies.
func (r Reverter) keepCopies(ctx context.Context, planned *session.Revert) error {
	for i := range planned.Files {
		f := &planned.Files[i]
		if f.Copy == "" {
			continue
		}
		copies := append([]string{f.From.Blob}, f.Others...) // blobs, then paths
		for j, blob := range copies {
			if blob == "" { // there is no file
				continue
			}
			var err error
			if copies[j], err = r.Files.CopyBlob(ctx, f.Path, blob); err != nil {
				return session.Errorf(session.CodeConflict, "no file was changed: cannot copy %s: %v", f.Path, err)
			}
		}
		f.Copy, f.Others = copies[0], copies[1:]
	}
	for i := range planned.Kept {
		r.copyNotRestored(ctx, &planned.Kept[i])
	}
	return nil
}

// Clear brings back the files and messages that the session's staged revert took back, and returns the files that stay
// as they are. Without one it does nothing.
func (r Reverter) Clear(ctx context.Context, id session.ID) (kept []session.KeptFile, err error) {
	return r.clear(ctx, id, false)
}

// clear is Clear; replaced says that another revert follows.
func (r Reverter) clear(ctx context.Context, id session.ID, replaced bool) (kept []session.KeptFile, err error) {
	if kept, err = r.completePhase(ctx, id, replaced); err != nil {
		return nil, err
	}
	s, err := r.Journal.ReadSession(ctx, id)
	if err != nil || s.Revert == nil {
		return kept, err
	}
	if len(s.Revert.Files) == 0 {
		return nil, r.Journal.AppendFacts(ctx, id, &session.RevertCleared{Replaced: replaced})
	}
	if err := r.Journal.AppendFacts(ctx, id, &session.RevertAdvanced{Phase: session.RevertRestoring}); err != nil {
		return nil, err
	}
	return r.completePhase(ctx, id, replaced)
}
