package undo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/linediff"
	"github.com/cairn-dev/cairn/internal/session"
)

// ListRecords returns the files that commands and subagents changed in the turns, as they left them. Those that file
// tools changed are named by the results of the calls.
func (r *ChangeRecorder) ListRecords(
	ctx context.Context, id session.ID, files scope.Worktree, turns map[session.MessageID]bool,
) (out []session.FileRecord, err error) {
	if files == nil {
		return nil, nil
	}
	found, _, err := r.ReadChanges(ctx, id, func(c CallChange) bool {
		return turns[c.Origin.MessageID] && (!c.isInstant() || len(c.By) > 0)
	})
	for _, c := range dropUnchanged(sumChanges(found)) {
		record := session.FileRecord{Path: string(c.Path)}
		if !path.IsAbs(record.Path) {
			record.Path = path.Join(files.Root(), record.Path)
		}
		if !c.After.IsAbsent() {
			record.Hash = "unknown"
			if content, err := files.Read(ctx, c.After.Blob, linediff.MaxText); err == nil {
				sum := sha256.Sum256(content)
				record.Hash = hex.EncodeToString(sum[:16]) // as the file tools name contents
			}
		}
		out = append(out, record)
	}
	return out, err
}
