package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// The drain reads its session in few transactions: one when it starts, one at the boundary of each turn and another one
// if the boundary changed something, and one when no turn has to follow.

// startView is the state of the session when a drain starts.
type startView struct {
	next         session.Delivery // of the prompts that are promoted first
	history      *history.History
	orphanedJobs bool                       // jobs of an earlier process are recorded as running
	notes        bool                       // prompts without a reply are pending
	revert       *session.Revert            // that is staged, nil without one
	compacting   *session.CompactionStarted // that an earlier process left open, nil without one
}

// readStart reads what the drain starts from. Without force and with no pending prompt there is nothing to do, and the
// rest of the view is not read.
func (d *drain) readStart(ctx context.Context, f drainMode) (*startView, error) {
	v := &startView{}
	err := d.viewSession(ctx, func(r store.Reader) (err error) {
		if err = findWork(d, r, v); err != nil || f == drainPending && v.next == "" {
			return err
		}
		s, err := store.FindSession(r, d.id)
		if err != nil {
			return err
		}
		v.orphanedJobs, v.revert = d.engine.Jobs.HasOrphans(s.Jobs), s.Revert
		v.compacting = s.Compacting
		v.history, err = d.engine.histories.ReadHistory(r, s)
		return err
	})
	return v, err
}

// viewSession runs f in a read transaction. If it fails, the cached history may be half read and is dropped.
func (d *drain) viewSession(ctx context.Context, f func(store.Reader) error) error {
	err := d.engine.journal.Store.View(ctx, f)
	if err != nil {
		d.engine.histories.Delete(d.id)
		return fmt.Errorf("read session %s: %w", d.id, err)
	}
	return nil
}

// boundaryView is one consistent sample of the session at a safe boundary.
type boundaryView struct {
	session     *session.Session // with the agent and the model that the promotion of pending selects
	epoch       *store.Epoch     // nil before the first one
	pending     []*session.Input // that a promotion would promote now
	compaction  *session.Input   // the request for a compaction that comes before any prompt; nil without one
	history     *history.History
	prompt      session.MessageID // the newest one
	policy      session.AskPolicy // of the newest prompt
	recovery    session.Recovery  // of the newest prompt
	restricted  bool              // the newest prompt, or the request for the newest compaction
	firstPrompt *session.User     // of a session without a name, for its title; the pending one if none is promoted
}

// readBoundary samples the session; pending are the prompts for the promotion.
func (d *drain) readBoundary(ctx context.Context, promotion session.Delivery) (*boundaryView, error) {
	v := &boundaryView{}
	err := d.viewSession(ctx, func(r store.Reader) (err error) {
		if v.session, err = store.FindSession(r, d.id); err != nil {
			return err
		}
		return d.fillBoundary(r, v, promotion)
	})
	if err != nil {
		return nil, err
	}
	for _, in := range v.pending {
		v.session.Apply(in.BuildPromotion())
	}
	d.restricted = d.restricted || v.compaction != nil && v.compaction.Restricted
	if d.restricted || selectionOf(v.pending).restricted {
		v.session.RemoveGrants()
	}
	return v, nil
}

// rereadBoundary samples what a boundary changed. The session's own row stays as it was sampled.
func (d *drain) rereadBoundary(
	ctx context.Context, before *boundaryView, promotion session.Delivery,
) (*boundaryView, error) {
	v := &boundaryView{session: before.session}
	if err := d.viewSession(ctx, func(r store.Reader) error { return d.fillBoundary(r, v, promotion) }); err != nil {
		return nil, err
	}
	return v, nil
}

// fillBoundary reads everything but the session's own row.
func (d *drain) fillBoundary(r store.Reader, v *boundaryView, promotion session.Delivery) error {
	if err := d.readPrompts(r, v); err != nil {
		return err
	}
	if epoch, ok, err := r.Epoch(d.id); err != nil {
		return err
	} else if ok {
		v.epoch = epoch
	}
	var err error
	if v.pending, v.compaction, err = d.listPromotable(r, promotion); err != nil || !v.session.IsUntitled() {
		return err
	}
	v.firstPrompt, err = d.findFirstPrompt(r, v.pending)
	return err
}

// readPrompts reads the history, the newest prompt, and the ask policy of that prompt.
func (d *drain) readPrompts(r store.Reader, v *boundaryView) (err error) {
	if v.history, err = d.engine.histories.ReadHistory(r, v.session); err != nil {
		return err
	}
	if prompt := v.history.NewestPrompt(); prompt != nil {
		v.prompt = prompt.ID
	}
	in, ok, err := store.FindInput(r, v.prompt)
	if err != nil {
		return err
	}
	if ok {
		v.policy, v.recovery, v.restricted = in.Asks, in.Recovery, in.Restricted
	}
	if v.history.NewestCompaction() < 0 {
		return nil
	}
	request, ok, err := store.FindInput(r, v.history.NewestRequest())
	v.restricted = v.restricted || ok && request.Restricted
	return err
}

// findFirstPrompt returns the first prompt of the session, else the first pending one, else nil.
func (d *drain) findFirstPrompt(r store.Reader, pending []*session.Input) (*session.User, error) {
	const searched = 8 // messages at the beginning of a session
	ms, err := store.ReadMessages(r, d.id, store.MessageQuery{After: -1, Limit: searched})
	if err != nil {
		return nil, err
	}
	for _, m := range ms {
		if u, ok := m.(*session.User); ok {
			return u, nil
		}
	}
	if len(pending) == 0 {
		return nil, nil
	}
	first, _ := session.Begin(&session.Prompted{MessageID: pending[0].ID, Prompt: pending[0].Prompt}, 0).(*session.User)
	return first, nil
}

// listPromotable returns the prompts that a promotion takes: with Queue the oldest queued one, then in any case the
// steers, up to the first request for a compaction. It returns that request if no prompt comes before it.
func (d *drain) listPromotable(
	r store.Reader, promotion session.Delivery,
) (ins []*session.Input, compaction *session.Input, err error) {
	if promotion == "" {
		return nil, nil, nil
	}
	if promotion == session.Queue {
		if ins, err = store.PendingInputs(r, d.id, session.Queue, 1); err != nil {
			return nil, nil, err
		}
	}
	steers, err := store.PendingInputs(r, d.id, session.Steer, d.engine.limits.SteerBatch)
	ins = append(ins, steers...)
	for i, in := range ins {
		if in.Compaction == nil {
			continue
		}
		if i == 0 {
			compaction = in
		}
		return ins[:i], compaction, err
	}
	return ins, nil, err
}

// selection is the agent and the model that prompts name together: the last one that names any. Work on restricted
// prompts has fewer rights, so that prompts promoted together are restricted together.
type selection struct {
	agent      string
	model      session.ModelRef
	restricted bool // any of the prompts
}

func selectionOf(ins []*session.Input) (s selection) {
	for _, in := range ins {
		if in.Prompt.Agent != "" {
			s.agent = in.Prompt.Agent
		}
		if in.Prompt.Model != nil {
			s.model = *in.Prompt.Model
		}
		s.restricted = s.restricted || in.Restricted
	}
	return s
}

// readEligible returns what may be promoted at a boundary that no turn has to follow: steers first, else one queued
// prompt, else "".
func (d *drain) readEligible(ctx context.Context) (next session.Delivery, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	err = d.viewSession(ctx, func(r store.Reader) error {
		next, err = d.findEligible(r)
		return err
	})
	return next, err
}

// findWork reads which pending prompts call for work when a drain starts: those without a reply do not.
func findWork(d *drain, r store.Reader, v *startView) (err error) {
	if v.next, err = d.findEligible(r); err != nil || v.next != session.Steer {
		return err
	}
	first, err := store.PendingInputs(r, d.id, session.Steer, 1)
	if err != nil || len(first) == 0 || !first[0].NoReply {
		return err
	}
	v.notes = true
	steers, err := store.PendingInputs(r, d.id, session.Steer, 0)
	if err != nil || slices.ContainsFunc(steers, func(in *session.Input) bool { return !in.NoReply }) {
		return err
	}
	queued, err := store.PendingInputs(r, d.id, session.Queue, 1)
	v.next = ""
	if len(queued) > 0 {
		v.next = session.Queue
	}
	return err
}

func (d *drain) findEligible(r store.Reader) (session.Delivery, error) {
	for _, delivery := range session.PromotionOrder() {
		ins, err := store.PendingInputs(r, d.id, delivery, 1)
		if err != nil {
			return "", err
		}
		if len(ins) > 0 {
			return delivery, nil
		}
	}
	return "", nil
}

// readHistory returns the session's history as it is now.
func (d *drain) readHistory(ctx context.Context) (h *history.History, err error) {
	err = d.viewSession(ctx, func(r store.Reader) error {
		s, err := store.FindSession(r, d.id)
		if err == nil {
			h, err = d.engine.histories.ReadHistory(r, s)
		}
		return err
	})
	return h, err
}

// readUnfinished returns the history and the pending prompts.
func (d *drain) readUnfinished(ctx context.Context) (h *history.History, pending []*session.Input, err error) {
	err = d.viewSession(ctx, func(r store.Reader) error {
		s, err := store.FindSession(r, d.id)
		if err == nil {
			h, err = d.engine.histories.ReadHistory(r, s)
		}
		if err == nil {
			pending, err = store.PendingInputs(r, d.id, "", 0)
		}
		return err
	})
	return h, pending, err
}
