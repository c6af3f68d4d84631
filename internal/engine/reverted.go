package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// settleRevert completes what an earlier process left of the staged revert, and commits it if work follows.
func (d *drain) settleRevert(ctx context.Context, start *drainStart, mode drainMode) error {
	ctx = context.WithoutCancel(ctx)
	// Files may be half restored: complete that whatever follows.
	if start.revert.Phase != session.RevertDone {
		if err := d.engine.Commands.CompleteRevert(ctx, d.id); err != nil {
			return err
		}
	}
	if mode != drainForced && start.next == "" {
		return nil
	}
	// Nothing may be left open among the messages that go.
	if open := start.history.OpenTurns(); len(open) > 0 { // an earlier version staged the revert without ending them
		stopped, stop := context.WithCancel(ctx)
		stop()
		if _, err := d.closeOpen(stopped, start, open); err != nil {
			return err
		}
	}
	// Commit: from here on the history does not have them.
	_, err := d.engine.journal.Log.Append(ctx, d.id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		s, err := store.FindSession(tx, d.id)
		if err != nil {
			return nil, err
		}
		facts, err := undo.CommitFacts(tx, s)
		return eventlog.NewDrafts(facts...), err
	})
	return err
}
