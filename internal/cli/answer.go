package cli

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// SendAnswer delivers one answer.
func SendAnswer(ctx context.Context, c *api.Client, a term.Answer) error {
	switch {
	case !a.Ask.IsQuestion():
		return c.Reply(ctx, a.Ask.SessionID, a.Ask.ID, api.ReplyRequest{
			Reply: a.Reply, Message: a.Message, Lifetime: a.Lifetime, Patterns: a.Patterns,
		})
	case a.Reply == session.ReplyReject:
		return c.Questions().Reject(ctx, a.Ask.SessionID, a.Ask.ID)
	default:
		return c.Questions().Answer(ctx, a.Ask.SessionID, a.Ask.ID, a.Answers)
	}
}

// ShowNextAsk shows the next ask after an answer was delivered or failed. It first removes the session's asks that the
// same answer settled; if the pending asks cannot be read, it removes none.
func ShowNextAsk(ctx context.Context, c *api.Client, q *term.AskQueue, sent term.Answer) {
	var waits []session.PendingAsk
	var err error
	if len(q.Pending) > 0 {
		waits, err = PendingAsks(ctx, c, sent.Ask.SessionID)
	}
	q.ShowNext(func(a session.PendingAsk) bool {
		return err == nil && a.SessionID == sent.Ask.SessionID &&
			!slices.ContainsFunc(waits, func(w session.PendingAsk) bool { return w.ID == a.ID })
	})
}

// PendingAsks returns the pending permission requests and questions of a session.
func PendingAsks(ctx context.Context, c *api.Client, id session.ID) ([]session.PendingAsk, error) {
	asks, err := c.Asks(ctx, id)
	if err != nil {
		return nil, err
	}
	questions, err := pendingQuestions(ctx, c, id)
	return append(asks, questions...), err
}

// pendingQuestions are the questions of a session as asks.
func pendingQuestions(ctx context.Context, c *api.Client, id session.ID) ([]session.PendingAsk, error) {
	list, err := c.Questions().List(ctx, id)
	var asks []session.PendingAsk
	for _, q := range list {
		asks = append(
			asks,
			session.PendingAsk{ID: q.ID, SessionID: q.SessionID, Action: actionQuestion, Questions: q.Questions},
		)
	}
	return asks, err
}

// actionQuestion is the action of asks for answers.
const actionQuestion = "question"
