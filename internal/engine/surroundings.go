package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/projection"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// errBlocked says that the first system context of a session cannot be observed completely, so nothing may be
// promoted yet (seed 004). The prompt stays pending; the next wake tries again.
type errBlocked struct{ keys []string }

func (e *errBlocked) Error() string {
	return "the session's surroundings cannot be read: " + strings.Join(e.keys, ", ")
}

// firstEpoch renders the baseline of a session that has none, nil if it has one.
func (d *drain) firstEpoch(ctx context.Context, c systemcontext.Context) (*session.Epoch, *store.Epoch, error) {
	cur, err := d.epoch(ctx)
	if err != nil || cur != nil {
		return nil, cur, err
	}
	g, err := systemcontext.Initialize(ctx, c)
	if b, ok := errors.AsType[*systemcontext.Blocked](err); ok {
		return nil, nil, &errBlocked{b.Keys}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("render the system context: %w", err)
	}
	return &session.Epoch{Baseline: &g.Baseline, Snapshot: g.Snapshot, Revision: 1}, nil, nil
}

func (d *drain) epoch(ctx context.Context) (cur *store.Epoch, err error) {
	err = d.store.View(ctx, func(r store.Reader) error {
		row, ok, err := r.Epoch(d.id)
		if ok {
			cur = row
		}
		return err
	})
	return cur, err
}

// reconcile tells the model what changed around it since it was last told, and begins a new epoch after a compaction
// or an incompatible change (spec/v2 §11.3 prepare). It returns projection.ErrEpoch if somebody was faster.
func (d *drain) reconcile(ctx context.Context, c systemcontext.Context, cur *store.Epoch) error {
	compacted, err := d.compactedSince(ctx, cur.BaselineSeq)
	if err != nil {
		return err
	}
	act := systemcontext.Reconcile
	if compacted {
		act = systemcontext.Replace
	}
	o, err := act(ctx, c, cur.Snapshot)
	if _, unreadable := errors.AsType[*systemcontext.SnapshotError](err); unreadable {
		d.logger.Error("begin a new context epoch", "session", d.id, "error", err)
		o, err = anew(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("compare the system context: %w", err)
	}
	next := &session.Epoch{Snapshot: o.Generation.Snapshot, Revision: cur.Revision + 1}
	draft := eventlog.Draft{Private: &session.Private{Epoch: next}}
	switch o.Kind {
	case systemcontext.OutcomeUpdated:
		draft.Data = &session.ContextUpdated{MessageID: d.messageID(), Text: o.Text}
	case systemcontext.OutcomeReady:
		next.Baseline = &o.Generation.Baseline
		draft.Data = &session.ContextBased{}
	default: // unchanged, or blocked: the old baseline and its updates stay in force
		return nil
	}
	_, err = d.append(ctx, d.id, store.Durable, draft)
	return err
}

// anew is the outcome where nothing is known of what the model was told.
func anew(ctx context.Context, c systemcontext.Context) (systemcontext.Outcome, error) {
	g, err := systemcontext.Initialize(ctx, c)
	if b, ok := errors.AsType[*systemcontext.Blocked](err); ok {
		return systemcontext.Outcome{}, &errBlocked{b.Keys}
	}
	return systemcontext.Outcome{Kind: systemcontext.OutcomeReady, Generation: g}, err
}

func (d *drain) compactedSince(ctx context.Context, seq int64) (after bool, err error) {
	err = d.store.View(ctx, func(r store.Reader) error {
		m, ok, err := store.NewestMessage(r, d.id, session.TypeCompaction)
		after = ok && m.Meta().Seq > seq
		return err
	})
	return after, err
}

// retryEpoch runs f again while somebody else changes the epoch, a bounded number of times (EP-1).
func retryEpoch(f func() error) error {
	var err error
	for range 3 {
		if err = f(); !errors.Is(err, projection.ErrEpoch) {
			return err
		}
	}
	return err
}
