package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/tool"
)

// ask decides one request of a call: by the rules that held when the turn began, by the saved approvals as they are
// now, by the headless policy, or by whoever replies. It returns nil or a *tool.Denied, or the end of ctx.
func (t *turn) ask(ctx context.Context, c *call, r tool.Request) error {
	return t.askUnder(ctx, c, r, t.set.asks)
}

// askUnder is ask under another headless policy than the turn's.
func (t *turn) askUnder(ctx context.Context, c *call, r tool.Request, policy askPolicy) error {
	c.asking.Store(true)
	c.order.await(ctx)
	err := t.decide(ctx, c, r, policy)
	c.order.passed()
	if err == nil || ctx.Err() == nil {
		c.asking.Store(false)
	}
	return err
}

// decide is ask for anything that asks: a call, or the engine itself (c is nil).
func (t *turn) decide(ctx context.Context, c *call, r tool.Request, policy askPolicy) error {
	var source *session.AskSource
	if c != nil {
		source = &session.AskSource{Type: "tool", MessageID: t.message, CallID: c.id, PartID: c.part}
	}
	layers := t.set.rights
	if r.Action == actionBudget || r.Action == actionLoop {
		layers = explicit(layers, r.Action)
	}
	saved, err := t.approvals(ctx, t.set.session.ApprovalScope())
	if err != nil {
		return err
	}
	d := permission.EvaluateAll(layers, saved, permission.Subject{Action: r.Action, Resources: r.Resources, Seen: r.Seen})
	switch d.Effect {
	case session.Deny:
		return &tool.Denied{Action: r.Action, Resources: r.Resources, Rule: d.Rule}
	case session.Allow:
		return nil
	}
	replied, err := t.formerAsk(ctx, c, r)
	if err != nil {
		return err
	}
	if replied != nil && replied.Reply != "" { // answered before a restart
		return verdict(*replied)
	}
	w := &waitingAsk{call: c, layers: layers, seen: r.Seen, project: t.set.session.ApprovalScope(), reply: make(chan store.AskRow, 1)}
	if replied != nil {
		w.ask = replied.PendingAsk
	} else {
		w.ask = session.PendingAsk{
			ID: session.AskID(t.ids.New(session.PrefixPermission)), SessionID: t.id, Action: r.Action, Resources: r.Resources,
			Save: r.Save, Metadata: r.Metadata, Source: source, Agent: t.set.agent.ID, Firm: d.Firm || r.Action == actionBudget,
		}
	}
	row, err := t.await(ctx, w, replied == nil, policy)
	return firstError(err, verdict(row))
}

// approvals returns what was allowed for good in the project.
func (e *Engine) approvals(ctx context.Context, project session.ProjectID) (saved []session.Rule, err error) {
	err = e.store.View(ctx, func(r store.Reader) error {
		approvals, err := r.Approvals(project)
		for _, a := range approvals {
			saved = append(saved, session.Rule{Action: a.Action, Resource: a.Resource, Effect: session.Allow})
		}
		return err
	})
	return saved, err
}

// formerAsk returns what the same call asked before in the same words, nil if nothing. An ask of the engine's own (c is
// nil) is the same only while it waits.
func (t *turn) formerAsk(ctx context.Context, c *call, r tool.Request) (same *store.AskRow, err error) {
	err = t.store.View(ctx, func(rd store.Reader) error {
		asks, err := t.asksOf(rd, c)
		for _, a := range asks {
			if a.Action == r.Action && slices.Equal(a.Resources, r.Resources) {
				same = a
			}
		}
		return err
	})
	return same, err
}

// asksOf reads what the call asked so far: since its turn began, not since its session did. Without a call it is what the
// engine itself asks and nobody has answered.
func (t *turn) asksOf(r store.Reader, c *call) (asks []*store.AskRow, err error) {
	if c == nil {
		asks, err = r.Asks(t.id, true)
		return slices.DeleteFunc(asks, func(a *store.AskRow) bool { return caller(a.PendingAsk) != "" }), err
	}
	begun, ok, err := r.Message(t.id, t.message)
	if err != nil || !ok {
		return nil, err
	}
	rows, err := r.Events(t.id, begun.Meta().Seq, 0, session.KindPermissionAsked)
	for _, row := range rows {
		e, err := eventlog.Decode(row)
		if err != nil {
			return nil, err
		}
		asked, isAsk := e.Data.(*session.PermissionAsked)
		if !isAsk || caller(asked.Ask) != c.part {
			continue
		}
		a, ok, err := r.Ask(asked.Ask.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			asks = append(asks, a)
		}
	}
	return asks, err
}

// caller is the item of the call that asks, "" if no call of ours does: asks that come from outside may name any call.
func caller(a session.PendingAsk) session.PartID {
	if a.Source == nil {
		return ""
	}
	return a.Source.PartID
}

// await makes the ask durable, unless it is, and waits for the reply as the policy says. An error is no reply.
func (t *turn) await(ctx context.Context, w *waitingAsk, fresh bool, policy askPolicy) (store.AskRow, error) {
	t.asks.enter(w)
	defer t.asks.leave(w.ask.ID)
	if !fresh { // it may have been answered before we stood at the desk
		if row, err := t.row(ctx, w.ask.ID); err != nil || row.Reply != "" {
			return row, err
		}
	}
	if fresh {
		drafts := eventlog.Drafts(&session.PermissionAsked{Ask: w.ask})
		if reply, msg := policy.verdict(w.ask); reply != "" {
			drafts = append(drafts, eventlog.Drafts(&session.PermissionReplied{AskID: w.ask.ID, Reply: reply, Message: msg, By: "policy"})...)
			if _, err := t.append(context.WithoutCancel(ctx), t.id, store.Durable, drafts...); err != nil {
				return store.AskRow{}, err
			}
			return store.AskRow{PendingAsk: w.ask, Reply: reply, Message: msg, By: "policy:" + policy.kind}, nil
		}
		if _, err := t.append(context.WithoutCancel(ctx), t.id, store.Durable, drafts...); err != nil {
			_, _ = t.withdraw(ctx, w, "the ask could not be stored", byInterrupt) // the commit may have happened all the same
			return store.AskRow{}, err
		}
	}
	if err := fault.Point(ctx, fault.PermAsked); err != nil {
		return store.AskRow{}, err
	}
	if w.call != nil {
		w.call.order.passed()
	}
	t.aside(w.call, w.ask.Action)
	defer t.back(ctx, w.call)
	var late <-chan time.Time
	if policy.kind == "wait" {
		timer := time.NewTimer(policy.wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case row := <-w.reply:
		return row, nil
	case <-late:
		return t.withdraw(ctx, w, "nobody answered within "+policy.wait.String(), "policy")
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), ErrShutdown) {
			return store.AskRow{}, context.Cause(ctx) // the ask stays, for the next process
		}
		row, err := t.withdraw(ctx, w, "the work was stopped", byInterrupt)
		if err == nil && row.By != byInterrupt {
			err = verdict(row)
		}
		return row, firstError(err, context.Cause(ctx))
	}
}

// byInterrupt answers what is asked by work that is stopped.
const byInterrupt = "interrupt"

// withdraw answers our own ask with a rejection, unless somebody was faster. It returns the ask as it is answered.
func (t *turn) withdraw(ctx context.Context, w *waitingAsk, why, by string) (store.AskRow, error) {
	d := &session.PermissionReplied{AskID: w.ask.ID, Reply: session.ReplyReject, Message: why, By: by}
	_, err := t.append(context.WithoutCancel(ctx), t.id, store.Durable, eventlog.Draft{Data: d})
	if errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		return t.row(context.WithoutCancel(ctx), w.ask.ID)
	}
	return store.AskRow{PendingAsk: w.ask, Reply: session.ReplyReject, Message: why, By: by}, err
}

// row reads an ask as it stands.
func (t *turn) row(ctx context.Context, id session.AskID) (row store.AskRow, err error) {
	err = t.store.View(ctx, func(r store.Reader) error {
		a, ok, err := r.Ask(id)
		if err == nil && !ok {
			err = session.NotFound("permission", string(id))
		}
		if a != nil {
			row = *a
		}
		return err
	})
	return row, err
}

// verdict is the policy's own answer, "" if somebody must be asked. What rules may deny no policy allows.
func (p askPolicy) verdict(a session.PendingAsk) (session.Reply, string) {
	if p.kind == "allow" && a.Firm {
		return session.ReplyReject, "a rule may deny this, which is not known before it runs, and --ask=allow lifts asks only; say it so that it is known, or go on without it"
	}
	switch p.kind {
	case "allow":
		return session.ReplyOnce, ""
	case "deny":
		return session.ReplyReject, "asks are denied in this run (--ask=deny); go on without it, or say what you would need"
	case "alone":
		return session.ReplyReject, "nobody is there to answer in this run; decide for yourself, and say what you took for granted"
	case "fail":
		return session.ReplyReject, ""
	default:
		return "", ""
	}
}

// strict is the policy for asks of the engine's own: to go on without is not possible, so that deny is fail.
func (p askPolicy) strict() askPolicy {
	if p.kind == "deny" {
		p.kind = "fail"
	}
	return p
}

// verdict turns a reply into the result of asking. A rejection without a message stops the work.
func verdict(row store.AskRow) error {
	if row.Reply != session.ReplyReject {
		return nil
	}
	return &tool.Denied{
		Action: row.Action, Resources: row.Resources, Feedback: row.Message, Stop: row.Message == "", Policy: strings.HasPrefix(row.By, "policy"),
	}
}
