package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/tool"
)

// inquire puts questions of a call to people and waits for the answers: an ask like any other, but that no rule and no
// approval can answer it. Where a policy answers asks, the model is told to decide for itself, unless the work is to stop.
func (t *turn) inquire(ctx context.Context, c *call, qs []session.Question) ([][]string, error) {
	c.asking.Store(true)
	c.order.await(ctx)
	row, err := t.question(ctx, c, qs)
	c.order.passed()
	if err == nil || ctx.Err() == nil {
		c.asking.Store(false)
	}
	return row.Answers, firstError(err, verdict(row))
}

func (t *turn) question(ctx context.Context, c *call, qs []session.Question) (store.AskRow, error) {
	all := []string{"*"}
	layers := t.set.scope.RulesFor(t.set.agent, t.set.session)
	if d := permission.EvaluateAll(layers, nil, permission.Subject{Action: tool.ActionQuestion, Resources: all}); d.Effect == session.Deny {
		return store.AskRow{}, &tool.Denied{Action: tool.ActionQuestion, Resources: all, Rule: d.Rule}
	}
	former, err := t.formerAsk(ctx, c, tool.Request{Action: tool.ActionQuestion, Resources: all})
	if err != nil {
		return store.AskRow{}, err
	}
	w := &waitingAsk{call: c, layers: layers, project: t.set.session.ApprovalScope(), reply: make(chan store.AskRow, 1)}
	if former != nil {
		w.ask = former.PendingAsk
	} else {
		w.ask = session.PendingAsk{
			ID: session.AskID(t.ids.New(session.PrefixQuestion)), SessionID: t.id, Action: tool.ActionQuestion, Resources: all, Questions: qs,
			Source: &session.AskSource{Type: "tool", MessageID: t.message, CallID: c.id, PartID: c.part}, Agent: t.set.agent.ID,
		}
	}
	policy := t.set.asks
	if policy.kind == "allow" || policy.kind == "deny" {
		policy.kind = "alone"
	}
	return t.await(ctx, w, former == nil, policy)
}

// Answer answers the questions of a pending ask, with a list for each, empty for no answer. They are answered once; an
// ask that does not wait is not found.
func (e *Engine) Answer(ctx context.Context, id session.ID, ask session.AskID, answers [][]string) error {
	return e.answer(ctx, id, session.PermissionReplied{AskID: ask, Reply: session.ReplyOnce, Answers: answers, By: "user"})
}

// Dismiss refuses to answer, which stops the session's work.
func (e *Engine) Dismiss(ctx context.Context, id session.ID, ask session.AskID) error {
	return e.answer(ctx, id, session.PermissionReplied{AskID: ask, Reply: session.ReplyReject, By: "user"})
}

func (e *Engine) answer(ctx context.Context, id session.ID, d session.PermissionReplied) error {
	if !isQuestion(d.AskID) {
		return session.NotFound("question", string(d.AskID))
	}
	err := e.settleAsk(ctx, id, d)
	if known, ok := errors.AsType[*session.Error](err); ok && known.Kind == "permission" {
		return session.NotFound("question", string(d.AskID))
	}
	return err
}

// isQuestion reports whether the id is that of an ask for answers.
func isQuestion(id session.AskID) bool {
	return strings.HasPrefix(string(id), string(session.PrefixQuestion))
}

// answersAll checks what a person answers.
func answersAll(a *store.AskRow, d session.PermissionReplied) error {
	if !a.IsQuestion() || d.By != "user" || d.Reply == session.ReplyReject {
		return nil
	}
	return session.CheckAnswers("answers", a.Questions, d.Answers)
}
