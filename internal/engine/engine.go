// Package engine runs the work of sessions: it is the loop between a person's prompt and a model's answer, and the only
// writer of the log. A session changes in one way: events are appended, and the rows that they change commit with them.
//
// One prompt, in order:
//
//	admit.AdmitPrompt    a prompt becomes durable in the session's inbox                 admit/admit.go
//	coordinator.wake     at most one drain runs per session                              coordinator.go
//	drain.run            close what was left open, then take turns until idle            drain.go, recover.go
//	drain.takeTurn       sample the session, promote prompts, tell what changed          turn.go, boundary.go, promote.go
//	history.BuildRequest stored messages become one request                              history/
//	drain.fitWindow      what would not fit the window is made smaller first             compact.go, compaction/
//	turn.streamAnswer    the model's events become durable events and live text          stream.go, turnlog/
//	turn.settleCalls     calls are authorised, run, and get exactly one outcome each     settle.go, ask/
//	drain.recordEnding   the turn ends; another one follows if the model must see more   ending.go, finish.go
//
// The types of the loop (Engine, drain, turn, and turnInput, what a turn samples) are in state.go, below all that use them.
//
// A drain is process-local and has no durable identity: after a crash the rows decide what is left to do. What has
// happened is recorded even if the work is cancelled meanwhile: recording never takes the cancellable context. How work
// ends, and what a failure leaves behind, is one state machine (ending.go). If the store fails, the drain waits for it
// (outage.go).
//
// The packages below know nothing of the loop: scope is what a turn takes from its location; turnlog turns a stream into
// events, and has the store, log, ids and clock that all share; history is pure; ask carries permissions; undo records
// and takes back changes of files; compaction makes requests smaller and writes titles; admit is what callers ask of a
// session; task runs what outlives its turn. BuildNextRequest shows the next request without sending it.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/archive"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/task"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Config of an Engine. Store, Log, IDs and Locations are required.
type Config struct {
	Store     store.Store
	Log       *eventlog.Log
	IDs       *session.IDs
	Locations scope.Scopes
	Outputs   Outputs         // nil keeps no output of tools
	Checkouts admit.Checkouts // nil: sessions move without changes
	Files     archive.Files   // nil: logs are not exported
	Limits    Limits
	Logger    *slog.Logger
	Version   string           // of cairn, stored with each session
	Now       func() time.Time // nil is the wall clock
	Audit     *audit.Trail     // nil records nothing

	OnCreate  func(*session.Session) // called with each new session; nil does nothing
	MakeRoom  func() bool            // frees space of a full disk for a deletion; nil frees nothing
	CheckRoom func() error           // returns an error if no new work may begin for want of room; nil allows it
}

// New returns an engine. Nothing runs until something wakes it: call Recover once the surfaces stand.
func New(c Config) *Engine {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	// The parts that need no other one.
	e := &Engine{
		journal:   &turnlog.Journal{Store: c.Store, Log: c.Log, IDs: c.IDs, Logger: c.Logger, Now: c.Now, Audit: c.Audit},
		locations: c.Locations, limits: c.Limits.withDefaults(), logger: c.Logger, onCreate: c.OnCreate,
	}
	e.statuses.journal = e.journal
	e.titles = compaction.NewTitleGenerator(e.journal, e.limits.retryLimits())
	e.changes = undo.NewChangeRecorder(e.journal)
	e.shrinker = &compaction.Shrinker{
		Journal:   e.journal,
		Summaries: &compaction.Writer{Logger: e.logger, Limits: e.limits.retryLimits(), Now: e.journal.Now},
		ShowRetry: e.showRetry, ListChanged: e.changes.ListRecords,
	}
	e.sessionSlots = semaphore.NewWeighted(int64(e.limits.Sessions))
	e.toolSlots = semaphore.NewWeighted(int64(e.limits.Tools))
	// The coordinator, and what wakes it or waits for it. They refer to each other through functions of e.
	onIdle := func(id session.ID) { e.statuses.Set(id, Status{Type: StatusIdle}) }
	e.coordinator = newCoordinator(e.drain, onIdle, e.logger)
	e.Jobs = task.NewRegistry(task.RegistryConfig{
		Journal: e.journal, Outputs: c.Outputs,
		ContinueTask: func(t session.TaskJob) tool.Work { return e.subagents.WorkOn(t) },
		Wake:         func(id session.ID) { e.coordinator.wake(id, drainPending) },
	})
	e.Commands = admit.NewCommands(admit.Config{
		Journal: e.journal, Locations: e.locations, Scheduler: scheduler{e}, Outputs: c.Outputs, Tools: e.toolSlots,
		Checkouts: c.Checkouts,
		Changes:   e.changes,
		Limits: admit.Limits{
			Pending: e.limits.Pending, PromptBytes: e.limits.PromptBytes, ImageBytes: e.limits.ImageBytes,
			FileBytes: e.limits.FileBytes, AnswerBytes: e.limits.AnswerBytes,
		},
		Version: c.Version, CheckOpen: e.checkOpen, CheckRoom: c.CheckRoom, MakeRoom: c.MakeRoom, Created: e.notifyCreated,
	})
	e.subagents = &task.Runner{
		Journal: e.journal, Commands: e.Commands, Locations: e.locations, Wait: e.coordinator.wait, Stop: e.Interrupt,
		Wake:   func(id session.ID) { e.coordinator.wake(id, drainRestart) },
		Limits: task.Limits{Depth: e.limits.TaskDepth, Children: e.limits.Children, Time: e.limits.TaskTime},
	}
	if c.Files != nil {
		e.Archive = archive.New(archive.Config{
			Journal: e.journal, Locations: e.locations, Files: c.Files, Version: c.Version, CheckOpen: e.checkOpen,
		})
	}
	e.Asks = ask.New(ask.Config{
		Journal: e.journal, Locations: e.locations, CheckOpen: e.checkOpen,
		Resume: e.resumeTree,
	})
	return e
}

// Close stops all work so that another process can continue it: turns are recorded as interrupted, tools stop and
// settle, jobs end, sessions get titles from their prompts, and pending asks stay. It waits until that is recorded or
// ctx ends.
func (e *Engine) Close(ctx context.Context) error {
	e.StopAccepting()
	defer e.closeEvents(ctx)
	return errors.Join( // jobs first: a task that ended because its session is closed would be reported as unfinished
		e.Jobs.EndAll(ctx, "", turnlog.ErrShutdown), e.coordinator.close(ctx), e.titles.Close(ctx), e.summaries.Close(ctx),
		e.changes.Close(ctx),
	)
}

// maxEventWait bounds the wait of the end of the process for extensions that are told of events.
const maxEventWait = 2 * time.Second

// closeEvents waits a moment for extensions that are told of events, and then stops them: nothing depends on them.
func (e *Engine) closeEvents(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxEventWait)
	defer cancel()
	if err := e.journal.Events.Close(ctx); err != nil {
		e.logger.Warn("extensions were not told of all events", "error", err)
	}
}

// StopAccepting refuses new prompts, sessions and choices from now on. Accepted work continues.
func (e *Engine) StopAccepting() {
	e.closed.Store(true)
}

// checkOpen fails after StopAccepting, so that nothing is acknowledged that this process will not work on.
func (e *Engine) checkOpen() error {
	if e.closed.Load() {
		return session.Errorf(session.CodeUnavailable, "cairn is shutting down; try again in a moment")
	}
	return nil
}
