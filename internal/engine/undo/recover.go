package undo

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Recovery is the result of RecoverFiles.
type Recovery struct {
	MessageID session.MessageID  `json:"messageID"`        // from which the revert took back
	Files     []session.FilePath `json:"files"`            // that hold what they held before the revert
	Copies    []string           `json:"copies,omitempty"` // where copies of what the files held are
	Kept      []session.KeptFile `json:"kept,omitempty"`
}

// RecoverFiles brings back files that a committed revert of the session restored or removed, if they are still as it
// left them and their contents are still stored: those of the newest revert of which something can be brought back. It
// keeps copies of what they hold. The messages stay removed, and what the files hold counts as the user's. Without such
// a revert it is a *session.Error of code not-found.
func (r Reverter) RecoverFiles(ctx context.Context, id session.ID) (*Recovery, error) {
	if err := r.Resume(ctx, id); err != nil {
		return nil, err
	}
	reverts, err := listCommitted(ctx, r.Journal.Store, id)
	if err != nil {
		return nil, err
	}
	for _, committed := range slices.Backward(reverts) {
		files, err := r.selectRecoverable(ctx, committed.Files)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 {
			return r.recoverRevert(context.WithoutCancel(ctx), id, committed, files)
		}
	}
	return nil, fmt.Errorf("find a committed revert whose files can be brought back: %w",
		session.NotFound("revert", string(id)))
}

// selectRecoverable returns the files that are as the revert left them, and were not before it.
func (r Reverter) selectRecoverable(
	ctx context.Context, files []session.RevertedFile,
) (out []session.RevertedFile, err error) {
	if r.Files == nil {
		return nil, nil
	}
	paths := make([]session.FilePath, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	states, err := r.Files.ReadStates(ctx, paths)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		if states[i] == f.To && f.From != f.To {
			out = append(out, f)
		}
	}
	return out, nil
}

// recoverRevert brings back the files, which are some of those of the revert.
func (r Reverter) recoverRevert(
	ctx context.Context, id session.ID, committed *session.Revert, files []session.RevertedFile,
) (*Recovery, error) {
	// Copy what the files hold now, before any of them changes.
	out := &Recovery{MessageID: committed.MessageID, Files: []session.FilePath{}}
	for _, f := range files {
		if f.To.Blob == "" {
			continue
		}
		copied, err := r.Files.CopyBlob(ctx, f.Path, f.To.Blob)
		if err != nil {
			return nil, session.Errorf(session.CodeConflict, "no file was changed: cannot copy %s: %v", f.Path, err)
		}
		out.Copies = append(out.Copies, copied)
	}
	// Bring the files back.
	kept := map[session.FilePath]bool{}
	out.Kept = r.restoreFiles(ctx, id, files, true)
	for _, k := range out.Kept {
		kept[k.Path] = true
	}
	for _, f := range files {
		if !kept[f.Path] {
			out.Files = append(out.Files, f.Path)
		}
	}
	// Name those of the revert that were not as it left them.
	for _, f := range committed.Files {
		isRecovered := slices.ContainsFunc(files, func(g session.RevertedFile) bool { return g.Path == f.Path })
		if !isRecovered && f.From != f.To {
			out.Kept = append(out.Kept, session.KeptFile{Path: f.Path, Reason: "it is not as the revert left it"})
		}
	}
	return out, nil
}

// listCommitted returns the reverts that were committed, oldest first.
func listCommitted(ctx context.Context, st store.Store, id session.ID) (committed []*session.Revert, err error) {
	events, err := store.Query(ctx, st, func(rd store.Reader) ([]session.Event, error) {
		return eventlog.DecodeAll(rd.Events(id, -1, 0, session.KindRevertStaged, session.KindRevertCommitted))
	})
	if err != nil {
		return nil, fmt.Errorf("find the committed reverts: %w", err)
	}
	var staged *session.Revert
	for _, e := range events {
		switch d := e.Data.(type) {
		case *session.RevertStaged:
			staged = &d.Revert
		case *session.RevertCommitted:
			if staged != nil {
				committed = append(committed, staged)
			}
			staged = nil
		}
	}
	return committed, nil
}
