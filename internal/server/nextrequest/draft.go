package nextrequest

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// draft is the next request with what it is made of.
type draft struct {
	*compaction.FitRequest
	input   *history.Input
	prompts int                               // pending ones that the turn promotes
	sources []systemcontext.SourceDescription // of the context, as the model knows them
	update  string                            // what the turn tells the model of changed sources
	waiting []string                          // keys of sources that cannot be read
	hidden  *session.Assistant                // the newest turn before the newest compaction, nil without one
}

// storedState is the state in the store for the next turn.
type storedState struct {
	session *session.Session
	epoch   *store.Epoch
	history *history.History
	fresh   []session.Message  // after history.AfterSeq
	hidden  *session.Assistant // see draft
	policy  session.AskPolicy
	// restricted is session.Input's, of the work that the turn is of.
	restricted bool
	prompts    int
	seq        int64 // after the newest message
}

// readState reads the session with the pending prompts that the next boundary promotes.
func readState(r store.Reader, id session.ID) (v *storedState, err error) {
	v = &storedState{}
	if v.session, err = store.FindSession(r, id); err != nil {
		return nil, err
	}
	if r, err = undo.HideStaged(r, v.session); err != nil {
		return nil, err
	}
	if e, ok, err := r.Epoch(id); err != nil {
		return nil, err
	} else if ok {
		v.epoch = e
		v.seq = e.BaselineSeq + 1
	}
	if v.history, err = new(engine.Histories).ReadHistory(r, v.session); err != nil {
		return nil, err
	}
	if v.fresh, err = store.ReadMessages(r, id, store.MessageQuery{After: v.history.AfterSeq()}); err != nil {
		return nil, err
	}
	if ms := v.history.Messages(); len(ms) > 0 {
		v.seq = max(v.seq, ms[len(ms)-1].Meta().Seq+1)
	}
	if newest, ok, err := store.NewestMessage(r, id, session.TypeAssistant); err != nil {
		return nil, err
	} else if a, isTurn := newest.(*session.Assistant); ok && isTurn && a.Prefix != nil {
		v.hidden = a
	}
	if u := v.history.NewestPrompt(); u != nil {
		in, ok, err := store.FindInput(r, u.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			v.policy, v.restricted = in.Asks, in.Restricted && v.history.NeedsTurn()
		}
	}
	pending, err := listPromotable(r, id)
	for _, in := range pending {
		e := &session.Prompted{
			MessageID: in.ID, Prompt: in.Prompt, Delivery: in.Delivery, Asks: in.Asks, Recovery: in.Recovery,
		}
		v.session.Apply(e)
		v.addMessage(session.Begin(e, v.seq))
		v.policy, v.prompts, v.restricted = in.Asks, v.prompts+1, v.restricted || in.Restricted
	}
	if v.restricted {
		v.session.RemoveGrants()
	}
	return v, err
}

// addMessage adds a message that is not stored.
func (v *storedState) addMessage(m session.Message) {
	v.fresh, v.seq = append(v.fresh, m), v.seq+1
	after := v.history.AfterSeq()
	v.history.ExtendMessages(slices.DeleteFunc(slices.Clone(v.fresh), func(m session.Message) bool {
		return m.Meta().Seq <= after
	}))
}

// listPromotable returns the pending prompts that the next boundary promotes, up to a request for a compaction.
func listPromotable(r store.Reader, id session.ID) ([]*session.Input, error) {
	for _, delivery := range session.PromotionOrder() {
		limit := 0
		if delivery == session.Queue {
			limit = 1
		}
		ins, err := store.PendingInputs(r, id, delivery, limit)
		if err != nil || len(ins) == 0 {
			if err != nil {
				return nil, err
			}
			continue
		}
		for n, in := range ins {
			if in.Compaction != nil {
				return ins[:n], nil
			}
		}
		return ins, nil
	}
	return nil, nil
}

// reconcile brings the epoch and the history to where the boundary before the next turn would bring them.
func (d *draft) reconcile(ctx context.Context, v *storedState, c systemcontext.Context) error {
	if v.epoch == nil {
		return d.beginEpoch(ctx, v, c)
	}
	act := systemcontext.Reconcile
	if v.history.NewestCompaction() > v.epoch.BaselineSeq {
		act = systemcontext.Replace
	}
	o, err := act(ctx, c, v.epoch.Snapshot)
	if _, unreadable := errors.AsType[*systemcontext.SnapshotError](err); unreadable {
		return d.beginEpoch(ctx, v, c)
	}
	if err != nil {
		return err
	}
	d.addWaiting(o.Missing)
	if o.Kind == systemcontext.OutcomeReady {
		v.epoch = &store.Epoch{Baseline: o.Generation.Baseline, Snapshot: o.Generation.Snapshot, BaselineSeq: v.seq}
		d.sources, err = systemcontext.Describe(ctx, c, nil)
		return err
	}
	if d.sources, err = systemcontext.Describe(ctx, c, v.epoch.Snapshot); err != nil {
		return err
	}
	if o.Kind == systemcontext.OutcomeUpdated {
		d.update = o.Text
		v.addMessage(session.Begin(&session.ContextUpdated{MessageID: "msg_next", Text: o.Text}, v.seq))
	}
	return nil
}

// beginEpoch renders the first epoch. Sources that cannot be read are left out, and named: they hold the turn back.
func (d *draft) beginEpoch(ctx context.Context, v *storedState, c systemcontext.Context) error {
	g, err := systemcontext.Initialize(ctx, c)
	if blocked, ok := errors.AsType[*systemcontext.BlockedError](err); ok {
		d.addWaiting(blocked.Sources)
		var o systemcontext.Outcome
		if o, err = systemcontext.Replace(ctx, c, []byte("{}")); err == nil {
			g = o.Generation
		}
	}
	if err != nil {
		return err
	}
	v.epoch = &store.Epoch{Baseline: g.Baseline, Snapshot: g.Snapshot, BaselineSeq: v.seq - 1}
	d.sources, err = systemcontext.Describe(ctx, c, nil)
	return err
}

func (d *draft) addWaiting(missing []systemcontext.Unavailable) {
	for _, m := range missing {
		d.waiting = append(d.waiting, m.Key+": "+m.Err.Error())
	}
}
