package v1

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// askHandlers lists pending permission asks and questions, and replies to them.
type askHandlers struct{ *dependencies }

func (h askHandlers) listPermissions(ctx context.Context, in locationIn) ([]opencode.Permission, error) {
	rows, err := store.PendingAsksAt(ctx, h.Store, in.Location.Directory)
	out := []opencode.Permission{}
	for _, row := range rows {
		if !row.IsQuestion() {
			out = append(out, opencode.PermissionOf(row.SessionID, row.PendingAsk))
		}
	}
	return out, err
}

func (h askHandlers) listQuestions(ctx context.Context, in locationIn) ([]opencode.Question, error) {
	rows, err := store.PendingAsksAt(ctx, h.Store, in.Location.Directory)
	out := []opencode.Question{}
	for _, row := range rows {
		if row.IsQuestion() {
			out = append(out, opencode.QuestionOf(row.SessionID, row.PendingAsk))
		}
	}
	return out, err
}

// findPending returns the session of a pending ask. in is the session that must have asked, or one
// above it, "" for any.
func (h askHandlers) findPending(
	ctx context.Context,
	kind string,
	ask session.AskID,
	in session.ID,
) (session.ID, error) {
	return store.Query(ctx, h.Store, func(rd store.Reader) (session.ID, error) {
		if in != "" {
			if _, err := store.FindSession(rd, in); err != nil {
				return "", err
			}
		}
		row, ok, err := store.FindAsk(rd, ask)
		if in != "" {
			row, ok, err = store.FindAskOf(rd, in, ask)
		}
		if err != nil {
			return "", err
		}
		if !ok || row.Reply != "" || row.IsQuestion() != (kind == kindQuestion) {
			return "", session.NotFound(kind, string(ask))
		}
		return row.SessionID, nil
	})
}

// permissionReply is the body of permission.reply.
type permissionReply struct {
	Reply   session.Reply `json:"reply"`
	Message string        `json:"message,omitzero"`
}

// Validate implements operation.Validator.
func (b *permissionReply) Validate() error { return checkReply("reply", b.Reply) }

func (h askHandlers) replyPermission(ctx context.Context, in struct {
	RequestID session.AskID   `path:"requestID" id:"per"`
	Body      permissionReply `body:"required"`
},
) (bool, error) {
	return h.reply(ctx, "", in.RequestID, in.Body)
}

// legacyReply is the body of permission.respond.
type legacyReply struct {
	Response session.Reply `json:"response"`
}

// Validate implements operation.Validator.
func (b *legacyReply) Validate() error { return checkReply("response", b.Response) }

// respondPermission is replyPermission for older clients.
func (h askHandlers) respondPermission(ctx context.Context, in struct {
	sessionIn
	PermissionID session.AskID `path:"permissionID" id:"per"`
	Body         legacyReply   `body:"required"`
},
) (bool, error) {
	return h.reply(ctx, in.SessionID, in.PermissionID, permissionReply{Reply: in.Body.Response})
}

func checkReply(member string, reply session.Reply) error {
	switch reply {
	case session.ReplyOnce, session.ReplyAlways, session.ReplyReject:
		return nil
	default:
		return httpio.NewInvalid(
			"body",
			member,
			"Expected \"once\" | \"always\" | \"reject\", got %q",
			session.ClipText(string(reply), 40),
		)
	}
}

// reply answers an ask. An approval holds until cairn restarts, as OpenCode's clients tell their users.
func (h askHandlers) reply(ctx context.Context, in session.ID, asked session.AskID, b permissionReply) (bool, error) {
	id, err := h.findPending(ctx, kindPermission, asked, in)
	if err != nil {
		return false, err
	}
	return true, httpio.WithPart("body", h.Asks.Reply(ctx, id, asked, ask.UserReply{
		Reply: b.Reply, Message: b.Message, Lifetime: session.LifetimeProcess,
	}))
}

// questionIn is a request about one question.
type questionIn struct {
	RequestID session.AskID `path:"requestID" id:"que"`
}

// questionAnswers is the body of question.reply: the chosen labels of each question.
type questionAnswers struct {
	Answers [][]string `json:"answers"`
}

// Validate implements operation.Validator.
func (b *questionAnswers) Validate() error {
	if b.Answers == nil {
		return httpio.NewInvalid("body", "answers", "answers is missing")
	}
	return nil
}

func (h askHandlers) answerQuestion(ctx context.Context, in struct {
	questionIn
	Body questionAnswers `body:"required"`
},
) (bool, error) {
	id, err := h.findPending(ctx, kindQuestion, in.RequestID, "")
	if err != nil {
		return false, err
	}
	return true, httpio.WithPart("body", h.Asks.AnswerQuestions(ctx, id, in.RequestID, in.Body.Answers))
}

func (h askHandlers) rejectQuestion(ctx context.Context, in questionIn) (bool, error) {
	id, err := h.findPending(ctx, kindQuestion, in.RequestID, "")
	if err != nil {
		return false, err
	}
	return true, h.Asks.DismissQuestions(ctx, id, in.RequestID)
}
