package revert

import (
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Recovery says what RecoverFiles did.
type Recovery struct {
	MessageID session.MessageID  `json:"messageID"` // from which the revert took back
	Files     []session.FilePath `json:"files"`     // that hold what they held before the revert
	Kept      []session.KeptFile `json:"kept,omitempty"`
}

// RecoverFiles brings back the files that the newest committed revert of the session restored or removed, if they are
// still as it left them and their contents are still stored. The messages stay removed, and what the files hold counts
// as the user's. Without such a revert it is a *session.Error of code not-found.
func (r Reverter) RecoverFiles(ctx context.Context, id session.ID) (*Recovery, error) {
	if err := r.Resume(ctx, id); err != nil {
		return nil, err
	}
	committed, err := findCommitted(ctx, r.Journal.Store, id)
	if err != nil {
		return nil, err
	}
	out := &Recovery{MessageID: committed.MessageID, Files: []session.FilePath{}}
	kept := map[session.FilePath]bool{}
	out.Kept = r.restoreFiles(context.WithoutCancel(ctx), committed.Files, true)
	for _, k := range out.Kept {
		kept[k.Path] = true
	}
	for _, f := range committed.Files {
		if !kept[f.Path] {
			out.Files = append(out.Files, f.Path)
		}
	}
	return out, nil
}

// findCommitted returns the revert that was committed last.
func findCommitted(ctx context.Context, st store.Store, id session.ID) (committed *session.Revert, err error) {
	err = st.View(ctx, func(rd store.Reader) error {
		rows, err := rd.Events(id, -1, 0, session.KindRevertStaged, session.KindRevertCommitted)
		if err != nil {
			return err
		}
		var staged *session.Revert
		for _, row := range rows {
			e, err := eventlog.Decode(row)
			if err != nil {
				return err
			}
			switch d := e.Data.(type) {
			case *session.RevertStaged:
				staged = &d.Revert
			case *session.RevertCommitted:
				committed = staged
			}
		}
		return nil
	})
	if err == nil && (committed == nil || len(committed.Files) == 0) {
		err = session.NotFound("revert", string(id))
	}
	if err != nil {
		return nil, fmt.Errorf("find the newest committed revert: %w", err)
	}
	return committed, nil
}
