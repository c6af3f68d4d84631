package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// renderBaseline renders the first context epoch of a session. With a *systemcontext.BlockedError nothing may be
// promoted yet: the prompt stays pending, and the next wake tries again.
func renderBaseline(ctx context.Context, c systemcontext.Context) (*session.Epoch, error) {
	g, err := systemcontext.Initialize(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("render the system context: %w", err)
	}
	return &session.Epoch{Baseline: &g.Baseline, Snapshot: g.Snapshot, Revision: 1}, nil
}

// compareContext compares the sources of the context with what the model knows of them. A compaction since the epoch
// began makes the outcome a new one: the messages with the changes since then are gone. The error is a
// *systemcontext.SnapshotError if what the model knows cannot be read.
func compareContext(ctx context.Context, c systemcontext.Context, now *boundary) (systemcontext.Outcome, error) {
	if now.history.NewestCompaction() > now.epoch.BaselineSeq {
		return systemcontext.Replace(ctx, c, now.epoch.Snapshot)
	}
	return systemcontext.Reconcile(ctx, c, now.epoch.Snapshot)
}

// reconcile tells the model what changed in its context since the last turn, and begins a new epoch after a compaction
// or an incompatible change. It reports whether it appended an event. The error is projection.ErrEpoch if another
// process changed the epoch meanwhile.
func (d *drain) reconcile(ctx context.Context, c systemcontext.Context, now *boundary) (changed bool, err error) {
	// Compare. Without a readable snapshot, the whole context is rendered again.
	o, err := compareContext(ctx, c, now)
	if _, unreadable := errors.AsType[*systemcontext.SnapshotError](err); unreadable {
		d.engine.logger.Error("the context snapshot cannot be read; beginning a new epoch", "session", d.id, "error", err)
		o, err = replaceUnreadable(ctx, c)
	}
	if err != nil {
		return false, fmt.Errorf("compare the system context: %w", err)
	}
	// Store the new snapshot in the transaction of the event that tells the model.
	next := &session.Epoch{Snapshot: o.Generation.Snapshot, Revision: now.epoch.Revision + 1}
	draft := eventlog.Draft{Private: &session.Private{Epoch: next}}
	switch o.Kind {
	case systemcontext.OutcomeUpdated:
		draft.Data = &session.ContextUpdated{MessageID: d.engine.journal.NewMessageID(), Text: o.Text}
	case systemcontext.OutcomeReady:
		next.Baseline = &o.Generation.Baseline
		draft.Data = &session.ContextBased{}
	default: // unchanged, or blocked: the old baseline and its updates stay in force
		return false, nil
	}
	_, err = d.engine.journal.AppendDrafts(ctx, d.id, store.Durable, draft)
	return err == nil, err
}

// replaceUnreadable is the outcome where the snapshot of what the model knows is lost.
func replaceUnreadable(ctx context.Context, c systemcontext.Context) (systemcontext.Outcome, error) {
	g, err := systemcontext.Initialize(ctx, c)
	return systemcontext.Outcome{Kind: systemcontext.OutcomeReady, Generation: g}, err
}
