package ask

import (
	"cmp"
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// AskQuestions puts the questions of a call to people and returns an answer list for each. Rules may deny the
// questions, but neither rules nor approvals answer them. A policy that answers asks has the model decide for itself,
// unless it stops the work.
func (a *Asks) AskQuestions(ctx context.Context, by Asker, qs []session.Question) ([][]string, error) {
	var row store.AskRow
	err := by.Call.run(ctx, a.journal.Now, func() (err error) {
		row, err = a.askQuestions(ctx, by, qs)
		return err
	})
	return row.Answers, cmp.Or(err, denialOf(row))
}

func (a *Asks) askQuestions(ctx context.Context, by Asker, qs []session.Question) (store.AskRow, error) {
	all := []string{"*"}
	subject := permission.Subject{Action: tool.ActionQuestion, Resources: all}
	if d := permission.EvaluateAll(by.Layers, nil, subject); d.Effect == session.Deny {
		return store.AskRow{}, &tool.Denial{Action: tool.ActionQuestion, Resources: all, Rule: d.Rule}
	}
	earlier, err := a.findEarlier(ctx, by, tool.ActionQuestion, all)
	if err != nil {
		return store.AskRow{}, err
	}
	w := &waiter{layers: by.Layers, record: by.RecordID, reply: make(chan store.AskRow, 1)}
	if earlier != nil {
		w.ask = earlier.PendingAsk
	} else {
		w.ask = session.PendingAsk{
			ID: session.AskID(a.journal.IDs.New(session.PrefixQuestion)), SessionID: by.SessionID,
			Action: tool.ActionQuestion, Resources: all, Questions: qs, Source: by.source(), Agent: by.Agent,
		}
	}
	by.Policy = by.Policy.forQuestion()
	return a.resolveAsk(ctx, by, w, earlier == nil)
}

// AnswerQuestions answers the questions of a pending ask with one list per question, empty or absent for no answer.
// Questions are answered once. An unknown ask is a *session.Error of code not-found.
func (a *Asks) AnswerQuestions(ctx context.Context, id session.ID, ask session.AskID, answers [][]string) error {
	return a.settleQuestions(ctx, id, session.PermissionReplied{
		AskID: ask, Reply: session.ReplyOnce, Answers: answers, By: session.ByUser,
	})
}

// DismissQuestions refuses to answer, which stops the session's work.
func (a *Asks) DismissQuestions(ctx context.Context, id session.ID, ask session.AskID) error {
	return a.settleQuestions(ctx, id, session.PermissionReplied{
		AskID: ask, Reply: session.ReplyReject, By: session.ByUser,
	})
}

func (a *Asks) settleQuestions(ctx context.Context, id session.ID, d session.PermissionReplied) error {
	if !isQuestion(d.AskID) {
		return session.NotFound("question", string(d.AskID))
	}
	err := a.settleReply(ctx, id, d, approvalTerms{})
	if e, ok := errors.AsType[*session.Error](err); ok && e.Kind == "permission" {
		return session.NotFound("question", string(d.AskID))
	}
	return err
}
