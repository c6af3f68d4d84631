package ask

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Authorize decides one request: by the asker's rules, by the saved approvals as they are now, by the asker's policy,
// or by a reply. It returns nil, a *tool.Denial, or the cause for which ctx ended.
func (a *Asks) Authorize(ctx context.Context, by Asker, r tool.Request) error {
	if by.Call == nil {
		return a.authorize(ctx, by, r)
	}
	return by.Call.run(ctx, a.journal.Now, func() error { return a.authorize(ctx, by, r) })
}

// authorize decides one request. The rules and saved approvals come first; an ask continues an earlier one of a resumed
// call in the same words, or becomes a new one, which the policy or a person answers.
func (a *Asks) authorize(ctx context.Context, by Asker, r tool.Request) error {
	// Decide by the rules and approvals. A request for a person asks even if they allow it.
	layers := rulesFor(by.Layers, r.Action)
	saved, err := a.readApprovals(ctx, by.RecordID, by.approvalHolder())
	if err != nil {
		return err
	}
	subject := permission.Subject{Action: r.Action, Resources: slices.Concat(r.Resources, r.Hidden), Command: r.Command}
	parts := permission.Explain(layers, saved, subject)
	d := permission.FindStrictest(parts)
	if r.Person && d.Effect == session.Allow {
		d.Effect = session.Ask
	}

	// Find an earlier ask of the call. Without one, extensions are asked: they saw what led to an earlier one.
	d.Effect = a.applyDecided(ctx, by, r, d.Effect)
	var earlier *store.AskRow
	if d.Effect == session.Ask || by.Call != nil && by.Call.isResumed() {
		if earlier, err = a.findEarlier(ctx, by, r.Action, r.Resources); err != nil {
			return err
		}
	}
	if earlier == nil && d.Effect != session.Deny {
		var denial error
		if d.Effect, denial = a.consultExtensions(ctx, by, r, d.Effect); denial != nil {
			return denial
		}
	}

	// Settle what needs no ask.
	effect := d.Effect
	if effect == session.Allow && earlier != nil && a.waiters.isExpected(earlier.ID) {
		effect = session.Ask // the reply that resumed the call decides: it may reject it
	}
	switch effect {
	case session.Deny:
		denial := &tool.Denial{Action: r.Action, Resources: r.Resources, Rule: d.Rule, Reason: d.Reason, Agent: by.Agent}
		return cmp.Or[error](a.settleByRule(ctx, earlier, session.ReplyReject), denial)
	case session.Allow:
		if by.Call != nil && r.Action == permission.Outside {
			by.Call.outside.Store(!slices.ContainsFunc(parts, permission.Decision.IsUnspecific))
		}
		return a.settleByRule(ctx, earlier, session.ReplyOnce)
	}
	if earlier != nil && earlier.Reply != "" { // answered before a restart
		by.markApproval(*earlier)
		return explainDenial(denialOf(*earlier), d)
	}

	// Ask, or wait for the reply to the earlier ask.
	w := &waiter{
		layers: layers, subject: subject, person: r.Person, record: by.RecordID, holder: by.approvalHolder(),
		reply: make(chan store.AskRow, 1),
	}
	if earlier != nil {
		w.ask = earlier.PendingAsk
	} else {
		w.ask = session.PendingAsk{
			ID: session.AskID(a.journal.IDs.New(session.PrefixPermission)), SessionID: by.SessionID,
			Action: r.Action, Resources: r.Resources, Save: r.Save, Metadata: r.Metadata,
			Source: by.source(), Agent: by.Agent, Firm: r.Person || r.Action == ActionBudget,
		}
	}
	row, err := a.resolveAsk(ctx, by, w, earlier == nil)
	if err == nil {
		by.markApproval(row)
	}
	return cmp.Or(err, explainDenial(denialOf(row), d))
}

// markApproval records on the call that a person allowed its command or its directories outside of the Location, and
// that no person allowed its changes of files.
func (by Asker) markApproval(row store.AskRow) {
	if by.Call == nil || row.Reply == session.ReplyReject {
		return
	}
	byApproval := row.By == session.ByCascade // that a person has just saved
	switch {
	case row.Action == permission.Shell && row.By == session.ByUser:
		by.Call.approved.Store(true)
	case row.Action == permission.Outside && (row.By == session.ByUser || byApproval):
		by.Call.outside.Store(true)
	case row.Action == permission.Edit && row.By == session.ByPolicy:
		by.Call.unread.Store(true)
	}
}

// settleByRule settles an ask of an earlier process whose request the rules or approvals decide now, before the call
// runs. A nil or answered ask needs nothing.
func (a *Asks) settleByRule(ctx context.Context, earlier *store.AskRow, reply session.Reply) error {
	if earlier == nil || earlier.Reply != "" {
		return nil
	}
	fact := &session.PermissionReplied{
		AskID: earlier.ID, Reply: reply, Message: "the rules or approvals decide it now", By: session.ByRule,
	}
	return a.journal.AppendFacts(context.WithoutCancel(ctx), earlier.SessionID, fact)
}

// PendingReplies returns the events that reject the asks that a resumed call left pending in an earlier process and did
// not ask again. The caller commits them with the outcome of the call.
func PendingReplies(r store.Reader, by Asker) (replies []eventlog.Draft, err error) {
	asks, err := listEarlier(r, by)
	for _, row := range asks {
		if row.Reply == "" {
			replies = append(replies, eventlog.Draft{Data: &session.PermissionReplied{
				AskID: row.ID, Reply: session.ReplyReject, Message: "the call ended without it", By: session.ByRule,
			}})
		}
	}
	return replies, err
}

// explainDenial adds to a rejection by a policy why the request asked.
func explainDenial(err error, d permission.Decision) error {
	if denial, ok := errors.AsType[*tool.Denial](err); ok && denial.ByPolicy {
		denial.Reason = d.Reason
	}
	return err
}

// denialOf turns a rejection into a *tool.Denial. A rejection without a message stops the work.
func denialOf(row store.AskRow) error {
	if row.Reply != session.ReplyReject {
		return nil
	}
	return &tool.Denial{
		Action: row.Action, Resources: row.Resources, Feedback: row.Message, Stop: row.Message == "",
		ByPolicy: row.By == session.ByPolicy,
	}
}

// findEarlier returns what the asker asked before in the same words, nil if nothing. Of the engine's own asks only a
// pending one counts.
func (a *Asks) findEarlier(
	ctx context.Context, by Asker, action string, resources []string,
) (earlier *store.AskRow, err error) {
	err = a.journal.Store.View(ctx, func(r store.Reader) error {
		asks, err := listEarlier(r, by)
		for _, row := range asks {
			if row.Action == action && slices.Equal(row.Resources, resources) {
				earlier = row
			}
		}
		return err
	})
	return earlier, err
}

// listEarlier returns the asks of the call since its turn began, or the engine's own pending ones.
func listEarlier(r store.Reader, by Asker) (asks []*store.AskRow, err error) {
	if by.Call == nil {
		asks, err = r.Asks(store.AskQuery{SessionID: by.SessionID, Pending: true})
		return slices.DeleteFunc(asks, func(row *store.AskRow) bool { return PartOf(row.PendingAsk) != "" }), err
	}
	// The events since the turn began name the asks of the call; their rows have the replies.
	turn, ok, err := store.FindMessage(r, by.SessionID, by.Call.MessageID)
	if err != nil || !ok {
		return nil, err
	}
	events, err := eventlog.DecodeAll(r.Events(by.SessionID, turn.Meta().Seq, 0, session.KindPermissionAsked))
	for _, e := range events {
		asked, isAsk := e.Data.(*session.PermissionAsked)
		if !isAsk || PartOf(asked.Ask) != by.Call.PartID {
			continue
		}
		row, ok, err := store.FindAsk(r, asked.Ask.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			asks = append(asks, row)
		}
	}
	return asks, err
}

// resolveAsk makes a new ask durable and waits for its reply as the policy says. With an error there is no reply.
func (a *Asks) resolveAsk(ctx context.Context, by Asker, w *waiter, isNew bool) (store.AskRow, error) {
	// Add the waiter before the ask is stored: a reply may come as soon as it is.
	a.waiters.add(w)
	defer a.waiters.remove(w.ask.ID)
	if isNew {
		row, err := a.commitAsk(ctx, by, w)
		if err != nil || row.Reply != "" {
			return row, err
		}
	} else if row, err := a.readAsk(ctx, w.ask.ID); err != nil || row.Reply != "" {
		return row, err // answered before the waiter was added
	}
	if err := fault.PassPoint(ctx, fault.PermAsked); err != nil {
		return store.AskRow{}, err
	}
	if isNew {
		a.notifyAsked(by, w.ask)
	}
	// The next call of the turn may ask now, and the slots are free while this one waits.
	if by.Call != nil {
		by.Call.Release()
	}
	reacquire := by.Yield(w.ask.Action)
	defer reacquire(ctx)
	return a.awaitReply(ctx, by.Policy, w)
}

// commitAsk makes the ask durable, together with its reply if the policy has one.
func (a *Asks) commitAsk(ctx context.Context, by Asker, w *waiter) (store.AskRow, error) {
	drafts := eventlog.NewDrafts(&session.PermissionAsked{Ask: w.ask})
	reply, message := by.Policy.reply(w.ask)
	if reply != "" {
		fact := &session.PermissionReplied{AskID: w.ask.ID, Reply: reply, Message: message, By: session.ByPolicy}
		drafts = append(drafts, eventlog.NewDrafts(fact)...)
	}
	_, err := a.journal.AppendDrafts(context.WithoutCancel(ctx), by.SessionID, store.Durable, drafts...)
	if err == nil {
		return store.AskRow{PendingAsk: w.ask, Reply: reply, Message: message, By: session.ByPolicy}, nil
	}
	if reply == "" { // the commit may have happened all the same
		_, _ = a.withdrawAsk(ctx, w, "the ask could not be stored", session.ByInterrupt)
	}
	return store.AskRow{}, err
}

// awaitReply waits for a reply to a stored ask. If the work is stopped first, the ask is withdrawn; if the process
// stops, it stays for the next one.
func (a *Asks) awaitReply(ctx context.Context, p Policy, w *waiter) (store.AskRow, error) {
	var timeout <-chan time.Time
	if p.Kind == PolicyWait {
		timer := time.NewTimer(p.Wait)
		defer timer.Stop()
		timeout = timer.C
	}
	// The first of a reply, the time of the policy, and the end of the work.
	select {
	case row := <-w.reply:
		return row, nil
	case <-timeout:
		return a.withdrawAsk(ctx, w, "no answer arrived within "+p.Wait.String(), session.ByPolicy)
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), turnlog.ErrShutdown) {
			return store.AskRow{}, context.Cause(ctx)
		}
		row, err := a.withdrawAsk(ctx, w, "the work was stopped", session.ByInterrupt)
		if err == nil && row.By != session.ByInterrupt {
			err = denialOf(row)
		}
		return row, cmp.Or(err, context.Cause(ctx))
	}
}

// withdrawAsk rejects the asker's own ask and returns its row. A reply that was committed first wins.
func (a *Asks) withdrawAsk(ctx context.Context, w *waiter, why string, by session.ReplyBy) (store.AskRow, error) {
	fact := &session.PermissionReplied{AskID: w.ask.ID, Reply: session.ReplyReject, Message: why, By: by}
	ctx = context.WithoutCancel(ctx)
	_, err := a.journal.AppendDrafts(ctx, w.ask.SessionID, store.Durable, eventlog.Draft{Data: fact})
	if errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		return a.readAsk(ctx, w.ask.ID)
	}
	return store.AskRow{PendingAsk: w.ask, Reply: session.ReplyReject, Message: why, By: by}, err
}
