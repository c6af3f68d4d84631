package v2

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"

	"github.com/cairn-dev/cairn/internal/engine/task"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// SessionCommands changes sessions.
type SessionCommands interface {
	CreateSession(ctx context.Context, r admit.CreateRequest) (*session.Session, error)
	ImportSession(ctx context.Context, r admit.ImportRequest) (*admit.ImportProgress, error)
	ChangeSession(ctx context.Context, id session.ID, c admit.SessionChange) error
	MoveSession(ctx context.Context, r admit.MoveRequest) error
	DeleteSession(ctx context.Context, id session.ID) error
	AdmitPrompt(ctx context.Context, r admit.PromptRequest) (*session.Input, error)
	SwitchAgent(ctx context.Context, id session.ID, agent string) error
	SwitchModel(ctx context.Context, id session.ID, m session.ModelRef) error
	SetBudget(ctx context.Context, id session.ID, b *session.Budget) error
	SetContextEntry(ctx context.Context, id session.ID, entry session.ContextEntry, isNew bool) error
}

// InboxCommands changes the prompts that wait for their promotion, and admits and undoes compactions.
type InboxCommands interface {
	ListPending(ctx context.Context, id session.ID) ([]*session.Input, error)
	ReorderPrompts(ctx context.Context, id session.ID, ms []session.MessageID) error
	ChangePrompt(ctx context.Context, id session.ID, m session.MessageID, c admit.PromptChange) error
	WithdrawPrompt(ctx context.Context, id session.ID, m session.MessageID) error
	AdmitCompaction(ctx context.Context, a admit.CompactionAdmission) (*session.Input, error)
	UndoCompaction(ctx context.Context, id session.ID) error
}

// RevertCommands take sessions back, copy them, and say what they changed in files.
type RevertCommands interface {
	ForkSession(ctx context.Context, from session.ID, p admit.CopyEnd) (*session.Session, error)
	PlanRevert(ctx context.Context, id session.ID, t undo.Target) (*session.Revert, error)
	StageRevert(ctx context.Context, id session.ID, t undo.Target) (*session.Revert, error)
	ClearRevert(ctx context.Context, id session.ID) (kept []session.KeptFile, err error)
	CommitRevert(ctx context.Context, id session.ID) error
	RecoverFiles(ctx context.Context, id session.ID) (*undo.Recovery, error)
	ReadDiff(ctx context.Context, id session.ID, q undo.DiffQuery) (undo.SessionDiff, error)
}

// AskService lists pending permission asks and questions, and replies to them.
type AskService interface {
	List(ctx context.Context, id session.ID) ([]*store.AskRow, error)
	AskExternally(ctx context.Context, id session.ID, a session.PendingAsk) (session.Effect, session.AskID, error)
	Reply(ctx context.Context, id session.ID, a session.AskID, answer ask.UserReply) error
	AnswerQuestions(ctx context.Context, id session.ID, a session.AskID, answers [][]string) error
	DismissQuestions(ctx context.Context, id session.ID, a session.AskID) error
	RevokeApproval(ctx context.Context, approval string) error
	AuthorizeTemplate(ctx context.Context, q ask.TemplateRequest) (readOnly bool, err error)
	ExplainRights(ctx context.Context, q ask.Query) (ask.Rights, error)
}

// SessionRuns controls the work of sessions.
type SessionRuns interface {
	Interrupt(ctx context.Context, id session.ID) error
	Resume(ctx context.Context, id session.ID) error
	Recover(ctx context.Context) ([]engine.UnfinishedSession, error)
	SummarizeSession(ctx context.Context, id session.ID) (*session.ProseSummary, error)
	Wait(ctx context.Context, id session.ID) error
	Status(id session.ID) engine.Status
	Active() []session.ID
}

// JobService are the background commands of sessions.
type JobService interface {
	ListRunning() []task.RunningJob // in this process
	List(ctx context.Context, id session.ID) ([]session.Job, error)
	Get(ctx context.Context, id session.ID, j session.JobID) (session.Job, error)
	ReadOutput(ctx context.Context, id session.ID, j session.JobID, part task.Range) (task.OutputPart, error)
	Wait(ctx context.Context, id session.ID, j session.JobID, d time.Duration) (session.Job, error)
	Cancel(ctx context.Context, id session.ID, j session.JobID) (session.Job, error)
}
