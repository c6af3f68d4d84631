package engine

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// NextRequest is the request that a session's next turn would send, with what it is made of.
type NextRequest struct {
	*compaction.FitRequest
	Input  *history.Input
	Prefix llm.Prefix
	Record *session.CachePrefix // what the turn would record of the request
	Last   *session.Assistant   // the newest turn that sent a request, nil without one; a compaction may hide it

	Prompts int                               // pending ones that the turn promotes
	Sources []systemcontext.SourceDescription // of the context, as the model knows them
	Update  string                            // what the turn tells the model of changed sources
	Waiting []string                          // keys of sources that cannot be read, with the reasons
}

// BuildNextRequest builds the request that the session's next turn would send now, with the functions that takeTurn
// calls up to the request. What a boundary writes is done in memory instead: no prompt is promoted, nothing is stored,
// and no model is asked. The caller calls release.
func (e *Engine) BuildNextRequest(ctx context.Context, id session.ID) (q *NextRequest, release func(), err error) {
	// Sample the session and its location, as at a boundary.
	histories := &Histories{} // of its own: the cached one belongs to the session's drain
	f := &forecast{reader: boundaryReader{id: id, histories: histories, steerBatch: e.limits.SteerBatch}}
	if err := e.journal.Store.View(ctx, f.readBoundary); err != nil {
		return nil, nil, err
	}
	input, releaseScope, err := e.sampleLocation(ctx, f.now)
	defer func() {
		if err != nil {
			releaseScope()
		}
	}()
	if err != nil {
		return nil, nil, err
	}
	// Cross the boundary in memory.
	f.promote()
	if err := f.reconcile(ctx, input.sources); err != nil {
		return nil, nil, err
	}
	// Build the request, and describe it as its turn would.
	if err := input.takeBoundary(f.now, histories.Get(id), f.restricted); err != nil {
		return nil, nil, err
	}
	if err := input.resolveModel(); err != nil {
		return nil, nil, err
	}
	input.lastStep = input.isLastStep(int(f.now.history.CountTurns()) + 1)
	input.buildRequest()
	sent := input.describeRequest()
	q = &f.out
	q.FitRequest, q.Input, q.Prefix, q.Record = input.request, input.requestInput(), sent.prefix, sent.record
	if last := input.history.LastRequested(); last != nil {
		q.Last = last
	}
	return q, releaseScope, nil
}

// forecast brings a sampled boundary to where the next turn's boundary would bring it.
type forecast struct {
	reader     boundaryReader
	now        *boundary
	restricted bool  // the work that the turn is of
	seq        int64 // of the next event
	out        NextRequest
}

// readBoundary samples the session without what a staged revert hides: the next turn commits the revert first.
func (f *forecast) readBoundary(r store.Reader) (err error) {
	f.now = &boundary{}
	if f.now.session, err = store.FindSession(r, f.reader.id); err != nil {
		return err
	}
	if r, err = undo.HideStaged(r, f.now.session); err != nil {
		return err
	}
	next, err := f.reader.findEligible(r)
	if err != nil {
		return err
	}
	if err := f.reader.fill(r, f.now, next); err != nil {
		return err
	}
	newest, ok, err := store.NewestMessage(r, f.reader.id, session.TypeAssistant)
	if a, isTurn := newest.(*session.Assistant); ok && isTurn && a.Prefix != nil {
		f.out.Last = a
	}
	// What was done restricts the turn only if the turn goes on with it.
	h, request := f.now.history, f.now.compaction
	f.restricted = f.now.restricted && h.NeedsTurn() || request != nil && request.Restricted ||
		selectionOf(f.now.pending).restricted
	f.now.applyPending(f.restricted)
	if f.now.epoch != nil {
		f.seq = f.now.epoch.BaselineSeq + 1
	}
	if ms := h.Messages(); len(ms) > 0 {
		f.seq = max(f.seq, ms[len(ms)-1].Meta().Seq+1)
	}
	return err
}

// promote adds the pending prompts to the history.
func (f *forecast) promote() {
	for _, in := range f.now.pending {
		f.addMessage(in.BuildPromotion())
		f.now.prompt, f.now.policy, f.now.recovery = in.ID, in.Asks, in.Recovery
	}
	f.out.Prompts = len(f.now.pending)
}

// addMessage adds the message that the event would begin.
func (f *forecast) addMessage(e session.EventData) {
	f.now.history.AddMessage(session.Begin(e, f.seq))
	f.seq++
}

// reconcile brings the epoch and the history to where drain.reconcile would bring them. Sources that cannot be read are
// named: of a session without an epoch they hold the turn back.
func (f *forecast) reconcile(ctx context.Context, c systemcontext.Context) (err error) {
	if f.now.epoch == nil {
		return f.beginEpoch(ctx, c)
	}
	o, err := compareContext(ctx, c, f.now)
	if _, unreadable := errors.AsType[*systemcontext.SnapshotError](err); unreadable {
		return f.beginEpoch(ctx, c)
	}
	if err != nil {
		return err
	}
	f.addWaiting(o.Missing)
	switch o.Kind {
	case systemcontext.OutcomeReady:
		return f.setEpoch(ctx, c, o.Generation, f.seq)
	case systemcontext.OutcomeUpdated:
		f.out.Update = o.Text
		f.addMessage(&session.ContextUpdated{MessageID: "msg_next", Text: o.Text})
	}
	f.out.Sources, err = systemcontext.Describe(ctx, c, f.now.epoch.Snapshot)
	return err
}

// beginEpoch renders the first epoch, which begins before the promoted prompts. Sources that cannot be read are left
// out, and named.
func (f *forecast) beginEpoch(ctx context.Context, c systemcontext.Context) error {
	g, err := systemcontext.Initialize(ctx, c)
	if blocked, ok := errors.AsType[*systemcontext.BlockedError](err); ok {
		f.addWaiting(blocked.Sources)
		var o systemcontext.Outcome
		if o, err = systemcontext.Replace(ctx, c, []byte("{}")); err == nil {
			g = o.Generation
		}
	}
	if err != nil {
		return err
	}
	return f.setEpoch(ctx, c, g, f.seq-1)
}

func (f *forecast) setEpoch(
	ctx context.Context, c systemcontext.Context, g systemcontext.Generation, seq int64,
) (err error) {
	f.now.epoch = &store.Epoch{Baseline: g.Baseline, Snapshot: g.Snapshot, BaselineSeq: seq}
	f.out.Sources, err = systemcontext.Describe(ctx, c, nil)
	return err
}

func (f *forecast) addWaiting(missing []systemcontext.Unavailable) {
	for _, m := range missing {
		f.out.Waiting = append(f.out.Waiting, m.Key+": "+m.Err.Error())
	}
}
