package sdk

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// Ask is what the work of a session waits for: a permission or, if it has Questions, answers.
type Ask struct {
	ID        string
	SessionID string // of the session that asks, which may be a subagent's
	Action    string // such as "bash" or "edit"
	Resources []string
	CallID    string // of the call of a tool; "" without one
	Questions []Question
	Created   time.Time // the zero time if it is not known
}

// Question is a question of the model. An answer is one of the options or, unless Closed, any text.
type Question struct {
	Text     string
	Options  []string
	Multiple bool // several answers are allowed
	Closed   bool // only the options are allowed
}

// Reply answers an Ask for a permission.
type Reply string

// The replies.
const (
	ReplyOnce   Reply = "once"
	ReplyAlways Reply = "always" // also later asks of the kind in the project, until that is revoked (cairn approvals)
	ReplyReject Reply = "reject"
)

// Asks returns what the session waits for. Those of its subagents are of their own sessions.
func (s *Session) Asks(ctx context.Context) ([]Ask, error) {
	var asks []session.PendingAsk
	err := s.client.call(ctx, func(ctx context.Context) (err error) {
		asks, err = follow.PendingAsks(ctx, s.client.api, s.id)
		return err
	})
	var out []Ask
	for _, a := range asks {
		out = append(out, newAsk(a))
	}
	return out, err
}

func newAsk(a session.PendingAsk) Ask {
	r := Ask{ID: string(a.ID), SessionID: string(a.SessionID), Action: a.Action, Resources: a.Resources}
	if a.Time != 0 {
		r.Created = time.UnixMilli(a.Time)
	}
	if a.Source != nil {
		r.CallID = a.Source.CallID
	}
	for _, q := range a.Questions {
		one := Question{Text: q.Question, Multiple: q.Multiple, Closed: q.Custom != nil && !*q.Custom}
		for _, o := range q.Options {
			one.Options = append(one.Options, o.Label)
		}
		r.Questions = append(r.Questions, one)
	}
	return r
}

// Reply answers an ask for a permission, also of a subagent. The message goes with ReplyReject, and may be "": the
// model reads it and goes on; without it the work ends. A rejection also rejects the other asks that the session waits
// for. An ask that was answered before is an error of CodeNotFound.
func (c *Client) Reply(ctx context.Context, a Ask, reply Reply, message string) error {
	if err := checkAsk(a, false); err != nil {
		return err
	}
	return c.call(ctx, func(ctx context.Context) error {
		return c.api.Reply(ctx, session.ID(a.SessionID), session.AskID(a.ID), api.ReplyRequest{
			Reply: session.Reply(reply), Message: message,
		})
	})
}

// Answer answers the questions of an ask: a list for each of them, empty for no answer. Without any list it refuses
// to answer, which ends the work.
func (c *Client) Answer(ctx context.Context, a Ask, answers ...[]string) error {
	if err := checkAsk(a, true); err != nil {
		return err
	}
	return c.call(ctx, func(ctx context.Context) error {
		id, ask := session.ID(a.SessionID), session.AskID(a.ID)
		if len(answers) == 0 {
			return c.api.Questions().Reject(ctx, id, ask)
		}
		lists := make([][]string, len(answers))
		for i, list := range answers {
			lists[i] = append([]string{}, list...) // never nil, which JSON would have as null
		}
		return c.api.Questions().Answer(ctx, id, ask, lists)
	})
}

// checkAsk returns an error unless the ask is one of the server, and has questions or is for a permission, as wanted.
func checkAsk(a Ask, wantQuestions bool) error {
	switch {
	case a.ID == "" || a.SessionID == "":
		return newInvalid("ask", "the ask has no id: take it from Asked, or from Session.Asks")
	case wantQuestions && len(a.Questions) == 0:
		return newInvalid("ask", "ask %s is for a permission: reply to it with Reply", a.ID)
	case !wantQuestions && len(a.Questions) > 0:
		return newInvalid("ask", "ask %s has questions: answer them with Answer", a.ID)
	default:
		return nil
	}
}
