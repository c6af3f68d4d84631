package v1

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"

	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/session"
)

// SessionCommands changes sessions.
type SessionCommands interface {
	CreateSession(ctx context.Context, r admit.CreateRequest) (*session.Session, error)
	ChangeSession(ctx context.Context, id session.ID, c admit.SessionChange) error
	MoveSession(ctx context.Context, r admit.MoveRequest) error
	DeleteSession(ctx context.Context, id session.ID) error
	AdmitPrompt(ctx context.Context, r admit.PromptRequest) (*session.Input, error)
	AdmitCompaction(ctx context.Context, a admit.CompactionAdmission) (*session.Input, error)
	RunShell(ctx context.Context, r admit.ShellRequest) (*session.Shell, error)
	EditPrompt(ctx context.Context, id session.ID, m session.MessageID, p session.PartID, to session.Prompt) error
	EditPart(ctx context.Context, id session.ID, m session.MessageID, p session.PartID, text string) error
	RemoveMessage(ctx context.Context, id session.ID, m session.MessageID) error
	RemovePart(ctx context.Context, id session.ID, m session.MessageID, p session.PartID) error
}

// RevertCommands takes back what a session did, shows it, and copies sessions.
type RevertCommands interface {
	ForkSession(ctx context.Context, from session.ID, p admit.CopyEnd) (*session.Session, error)
	StageRevert(ctx context.Context, id session.ID, t undo.Target) (*session.Revert, error)
	ClearRevert(ctx context.Context, id session.ID) (kept []session.KeptFile, err error)
	ReadDiff(ctx context.Context, id session.ID, q undo.DiffQuery) (undo.SessionDiff, error)
}

// AskService replies to pending permission asks and questions, and asks for the templates of commands.
type AskService interface {
	AuthorizeTemplate(ctx context.Context, q ask.TemplateRequest) (readOnly bool, err error)
	Reply(ctx context.Context, id session.ID, asked session.AskID, answer ask.UserReply) error
	AnswerQuestions(ctx context.Context, id session.ID, ask session.AskID, answers [][]string) error
	DismissQuestions(ctx context.Context, id session.ID, ask session.AskID) error
}

// SessionRuns controls the work of sessions.
type SessionRuns interface {
	Interrupt(ctx context.Context, id session.ID) error
	Wait(ctx context.Context, id session.ID) error
	Status(id session.ID) engine.Status
	Active() []session.ID
}
