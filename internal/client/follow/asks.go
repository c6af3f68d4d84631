package follow

import (
	"context"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
)

// Answer is a reply that is still to be delivered.
type Answer struct {
	Ask      session.PendingAsk
	Reply    session.Reply
	Message  string
	Lifetime session.Lifetime // if the reply is always
	Patterns []string         // likewise: saved instead of those that the ask offers
	Answers  [][]string       // if it is a question
}

// CommandApprovals holds the commands that were approved with a file of theirs.
type CommandApprovals struct{ commands map[describe.CallCommand]bool }

// NoteAnswer notes the answer to an ask for a file of a command.
func (p *CommandApprovals) NoteAnswer(a session.PendingAsk, r session.Reply) {
	if r == session.ReplyReject || !describe.IsBeforeCommand(a) {
		return
	}
	if p.commands == nil {
		p.commands = map[describe.CallCommand]bool{}
	}
	c, _ := describe.CommandOf(a)
	p.commands[c] = true
}

// DenialAnswer is the answer without a person: a permission is rejected, a question stays unanswered; the model
// continues.
func DenialAnswer(a session.PendingAsk, message string) Answer {
	if a.IsQuestion() {
		return Answer{Ask: a, Reply: session.ReplyOnce, Answers: make([][]string, len(a.Questions))}
	}
	return Answer{Ask: a, Reply: session.ReplyReject, Message: message}
}

// AnswerApproved answers the ask for a command that the person approved together with a file of its: the same command
// of the same call. An ask that only a person may allow is put to the person.
func (p *CommandApprovals) AnswerApproved(a session.PendingAsk) (Answer, bool) {
	c, ok := describe.CommandOf(a)
	ok = ok && a.Action == permission.Shell && !a.Firm && p.commands[c]
	return Answer{Ask: a, Reply: session.ReplyOnce}, ok
}

// SendAnswer delivers one answer.
func SendAnswer(ctx context.Context, c *api.Client, a Answer) error {
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
		a := session.PendingAsk{ID: q.ID, SessionID: q.SessionID, Action: actionQuestion, Questions: q.Questions}
		if q.Tool != nil {
			a.Source = &session.AskSource{Type: "tool", MessageID: q.Tool.MessageID, CallID: q.Tool.CallID}
		}
		asks = append(asks, a)
	}
	return asks, err
}

// actionQuestion is the action of asks for answers.
const actionQuestion = "question"
