package engine

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// boundary is one consistent sample of the session at a safe boundary. The turn that follows is made of it.
type boundary struct {
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

// boundaryReader reads the boundaries of one session. A drain keeps the session's history in the engine's cache; the
// preview of a request has a cache of its own.
type boundaryReader struct {
	id         session.ID
	histories  *Histories
	steerBatch int // prompts that are promoted together
}

// readBoundary samples the session; pending are the prompts for the promotion.
func (d *drain) readBoundary(ctx context.Context, next session.Delivery) (*boundary, error) {
	now := &boundary{}
	err := d.viewSession(ctx, func(r store.Reader) (err error) {
		if now.session, err = store.FindSession(r, d.id); err != nil {
			return err
		}
		if err = d.reader.fill(r, now, next); err == nil && now.session.IsUntitled() {
			now.firstPrompt, err = d.reader.findFirstPrompt(r, now.pending)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.restricted = d.restricted || now.compaction != nil && now.compaction.Restricted
	now.applyPending(d.restricted)
	return now, nil
}

// refreshBoundary samples again what crossing the boundary changed. The session's own row and its first prompt stay as
// they were sampled.
func (d *drain) refreshBoundary(ctx context.Context, now *boundary, next session.Delivery) error {
	fresh := &boundary{session: now.session, firstPrompt: now.firstPrompt}
	err := d.viewSession(ctx, func(r store.Reader) error { return d.reader.fill(r, fresh, next) })
	if err == nil {
		*now = *fresh
	}
	return err
}

// applyPending selects the agent and the model of the pending prompts, and takes the grants from restricted work.
func (now *boundary) applyPending(restricted bool) {
	for _, in := range now.pending {
		now.session.Apply(in.BuildPromotion())
	}
	if restricted || selectionOf(now.pending).restricted {
		now.session.RemoveGrants()
	}
}

// fill reads everything but the session's own row and its first prompt.
func (q boundaryReader) fill(r store.Reader, now *boundary, next session.Delivery) error {
	if err := q.fillPrompt(r, now); err != nil {
		return err
	}
	epoch, ok, err := r.Epoch(q.id)
	if err != nil {
		return err
	}
	if ok {
		now.epoch = epoch
	}
	now.pending, now.compaction, err = q.listPromotable(r, next)
	return err
}

// fillPrompt reads the history, the newest prompt, and the ask policy of that prompt.
func (q boundaryReader) fillPrompt(r store.Reader, now *boundary) (err error) {
	// The history up to now, with the prompt that its newest turn answers.
	if now.history, err = q.histories.ReadHistory(r, now.session); err != nil {
		return err
	}
	if prompt := now.history.NewestPrompt(); prompt != nil {
		now.prompt = prompt.ID
	}
	// How the prompt was admitted says how its work may ask, and whether it is restricted.
	in, ok, err := store.FindInput(r, now.prompt)
	if err != nil {
		return err
	}
	if ok {
		now.policy, now.recovery, now.restricted = in.Asks, in.Recovery, in.Restricted
	}
	// The request for a compaction restricts the work that follows it, as a prompt does.
	if now.history.NewestCompaction() < 0 {
		return nil
	}
	request, ok, err := store.FindInput(r, now.history.NewestRequest())
	now.restricted = now.restricted || ok && request.Restricted
	return err
}

// findFirstPrompt returns the first prompt of the session, else the first pending one, else nil.
func (q boundaryReader) findFirstPrompt(r store.Reader, pending []*session.Input) (*session.User, error) {
	const searched = 8 // messages at the beginning of a session
	ms, err := store.ReadMessages(r, q.id, store.MessageQuery{After: -1, Limit: searched})
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

// findEligible returns what may be promoted: steers first, else one queued prompt, else "".
func (q boundaryReader) findEligible(r store.Reader) (session.Delivery, error) {
	for _, delivery := range session.PromotionOrder() {
		ins, err := store.PendingInputs(r, q.id, delivery, 1)
		if err != nil {
			return "", err
		}
		if len(ins) > 0 {
			return delivery, nil
		}
	}
	return "", nil
}

// listPromotable returns the prompts that a promotion takes: with Queue the oldest queued one, then in any case the
// steers, up to the first request for a compaction. It returns that request if no prompt comes before it.
func (q boundaryReader) listPromotable(
	r store.Reader, next session.Delivery,
) (ins []*session.Input, compaction *session.Input, err error) {
	if next == "" {
		return nil, nil, nil
	}
	// The order is that of promotion: one queued prompt, which begins new work, then the steers.
	if next == session.Queue {
		if ins, err = store.PendingInputs(r, q.id, session.Queue, 1); err != nil {
			return nil, nil, err
		}
	}
	steers, err := store.PendingInputs(r, q.id, session.Steer, q.steerBatch)
	ins = append(ins, steers...)
	// A request for a compaction is carried out between two turns, so nothing is promoted past it.
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
