package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Reply answers a pending ask: once, always (which also saves what the ask offered to save), or reject, with a message
// that the model reads and goes on, or without one, which stops the session's work. An ask is answered once; another
// reply is a conflict.
func (e *Engine) Reply(ctx context.Context, id session.ID, ask session.AskID, reply session.Reply, message string) error {
	switch reply {
	case session.ReplyOnce, session.ReplyAlways, session.ReplyReject:
	default:
		return session.Errorf(session.CodeInvalid, "reply must be once, always or reject, got %q", reply).At("reply")
	}
	if isQuestion(ask) {
		return session.NotFound("permission", string(ask))
	}
	return e.settleAsk(ctx, id, session.PermissionReplied{AskID: ask, Reply: reply, Message: message, By: "user"})
}

// settleAsk commits a person's reply and wakes who waits for it.
func (e *Engine) settleAsk(ctx context.Context, id session.ID, d session.PermissionReplied) error {
	if err := e.accepting(); err != nil { // nobody would act on it
		return err
	}
	ask := d.AskID
	if err := e.takeUp(ctx, id, ask); err != nil {
		return err
	}
	row, project, err := e.reply(context.WithoutCancel(ctx), id, d)
	if err != nil {
		e.rouse(context.WithoutCancel(ctx), ask)
		return err
	}
	if err := fault.Point(ctx, fault.PermReplied); err != nil {
		return err
	}
	e.cascade(context.WithoutCancel(ctx), *row, project) // first: who is woken by a rejection stops the others
	e.asks.wake(*row)
	return nil
}

// reply commits the answer and what it saves.
func (e *Engine) reply(ctx context.Context, id session.ID, d session.PermissionReplied) (row *store.AskRow, project session.ProjectID, err error) {
	_, err = e.log.Append(ctx, id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		s, err := journal.FindSession(tx, id)
		if err != nil {
			return nil, err
		}
		project = s.ApprovalScope()
		a, ok, err := tx.Ask(d.AskID)
		if err != nil {
			return nil, err
		}
		if !ok || a.SessionID != id {
			return nil, session.NotFound("permission", string(d.AskID))
		}
		if err := answersAll(a, d); err != nil {
			return nil, err
		}
		if d.Reply == session.ReplyAlways && d.By == "user" { // what cascades saves nothing: nobody agreed to its patterns
			for i, pattern := range a.Save {
				err := tx.PutApproval(store.Approval{
					ID: approvalID(d.AskID, i), ProjectID: project, Action: a.Action, Resource: pattern, Time: e.now().UnixMilli(),
				})
				if err != nil {
					return nil, err
				}
			}
		}
		a.Reply, a.Message, a.By, a.Answers = d.Reply, d.Message, d.By, d.Answers
		row = a
		fact := d
		return eventlog.Drafts(&fact), nil
	})
	return row, project, err
}

// approvalID derives the id of a saved approval from its ask, so that repeating the reply saves nothing twice.
func approvalID(ask session.AskID, i int) string {
	return fmt.Sprintf("%s%s%d", session.PrefixSaved, strings.TrimPrefix(string(ask), string(session.PrefixPermission)), i)
}

// cascade answers the other waiting asks that the reply settles too: after "always" those that are now allowed, after
// a rejection all of the same session (spec/v2 PM-8).
func (e *Engine) cascade(ctx context.Context, row store.AskRow, project session.ProjectID) {
	saved, err := e.approvals(ctx, project)
	if err != nil {
		e.logger.Error("read approvals", "error", err)
		return
	}
	for _, w := range e.asks.others(project, row.ID) {
		reply, message := session.ReplyReject, row.Message
		switch {
		case row.Reply == session.ReplyReject && w.ask.SessionID == row.SessionID:
		case row.Reply == session.ReplyAlways && !w.ask.IsQuestion() && permission.EvaluateAll(w.layers, saved, w.subject()).Effect == session.Allow:
			reply, message = session.ReplyAlways, ""
		default:
			continue
		}
		next, _, err := e.reply(ctx, w.ask.SessionID, session.PermissionReplied{AskID: w.ask.ID, Reply: reply, Message: message, By: "cascade"})
		if err != nil {
			e.logger.Warn("answer a waiting ask", "ask", w.ask.ID, "error", err)
			continue
		}
		e.asks.wake(*next)
	}
}

// takeUpTime is how long a reply waits for its session to be taken up after a restart.
const takeUpTime = 5 * time.Second

// takeUp sees to it that a call of an earlier process that waits for this ask waits here before the reply is stored:
// once it is, nobody can tell any more whether the call has run.
func (e *Engine) takeUp(ctx context.Context, id session.ID, ask session.AskID) error {
	left := false
	err := e.store.View(ctx, func(r store.Reader) error {
		row, ok, err := r.Ask(ask)
		if err != nil || !ok || row.SessionID != id || row.Reply != "" || caller(row.PendingAsk) == "" {
			return err
		}
		m, _, err := r.Message(id, row.Source.MessageID)
		a, isTurn := m.(*session.Assistant)
		left = isTurn && a.Open()
		return err
	})
	if err != nil || !left {
		return err
	}
	arrived := e.asks.expect(ask)
	if arrived == nil {
		return nil
	}
	e.coordinator.wake(id, restarted)
	timer := time.NewTimer(takeUpTime)
	defer timer.Stop()
	select {
	case <-arrived:
	case <-timer.C:
		e.asks.forget(ask)
	case <-ctx.Done():
		e.asks.forget(ask)
	}
	return nil
}

// rouse wakes who waits for an ask that is answered although its reply failed: the commit may have happened all the same.
func (e *Engine) rouse(ctx context.Context, id session.AskID) {
	err := e.store.View(ctx, func(r store.Reader) error {
		row, ok, err := r.Ask(id)
		if ok && row.Reply != "" {
			e.asks.wake(*row)
		}
		return err
	})
	if err != nil {
		e.logger.Error("read an ask whose reply failed", "ask", id, "error", err)
	}
}
