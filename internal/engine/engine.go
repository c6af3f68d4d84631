// Package engine is the loop: it admits prompts into a session's durable inbox, promotes them at safe boundaries, runs
// provider turns, settles tool calls, answers asks, interrupts, and recovers. It is the only writer of the log.
//
// A session changes in one way: the engine appends events; their rows commit with them. Work on a session is a drain,
// of which there is at most one (coordinator.go). A drain has no durable identity: after a crash everything is decided
// from the rows (recover.go). What happened is recorded even when we are leaving: recording an outcome never takes the
// cancellable context.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/engine/job"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Config of an Engine. Store, Log, IDs and Locations are needed.
type Config struct {
	Store     store.Store
	Log       *eventlog.Log
	IDs       *session.IDs
	Locations location.Scopes
	Outputs   Outputs // nil: there are none
	Limits    Limits
	Logger    *slog.Logger
	Version   string           // of cairn, kept with each session
	Now       func() time.Time // the wall clock by default
}

// Engine runs sessions. Safe for concurrent use.
type Engine struct {
	Commands *command.Commands // what callers ask of a session
	Asks     *ask.Asks         // permission asks and questions
	Jobs     *job.Registry     // background jobs

	journal   *journal.Journal
	store     store.Store
	log       *eventlog.Log
	ids       *session.IDs
	locations location.Scopes
	limits    Limits
	logger    *slog.Logger
	now       func() time.Time

	coordinator *coordinator
	working     *semaphore.Weighted // drains
	tools       *semaphore.Weighted // tool calls
	titles      titleTasks
	statuses    statusBoard
	pauses      retryWaits
	histories   historyCache

	closed atomic.Bool // no new work is accepted
}

// New returns an engine. Nothing runs until something wakes it: call Recover once the surfaces stand.
func New(c Config) *Engine {
	e := &Engine{
		store: c.Store, log: c.Log, ids: c.IDs, locations: c.Locations, limits: c.Limits.withDefaults(),
		logger: c.Logger, now: c.Now,
	}
	if e.logger == nil {
		e.logger = slog.New(slog.DiscardHandler)
	}
	if e.now == nil {
		e.now = time.Now
	}
	e.journal = &journal.Journal{Store: e.store, Log: e.log, IDs: e.ids, Logger: e.logger, Now: e.now}
	e.working = semaphore.NewWeighted(int64(e.limits.Sessions))
	e.tools = semaphore.NewWeighted(int64(e.limits.Tools))
	e.coordinator = newCoordinator(e.drain, func(id session.ID) { e.statuses.set(e, id, Status{Type: StatusIdle}) }, e.logger)
	e.Jobs = job.New(e.journal, c.Outputs)
	e.Commands = command.New(command.Config{
		Journal: e.journal, Locations: e.locations, Scheduler: scheduler{e}, Outputs: c.Outputs, Tools: e.tools,
		Limits: command.Limits{
			Pending: e.limits.Pending, PromptBytes: e.limits.PromptBytes, ImageBytes: e.limits.ImageBytes,
			FileBytes: e.limits.FileBytes, AnswerBytes: e.limits.AnswerBytes,
		},
		Version: c.Version, CheckOpen: e.accepting,
	})
	e.Asks = ask.New(ask.Config{
		Journal: e.journal, Locations: e.locations, CheckOpen: e.accepting,
		Resume: func(id session.ID) { e.coordinator.wake(id, restarted) },
	})
	return e
}

// Close stops all work so that another process can go on with it: turns are cut and recorded as interrupted, tools are
// stopped and settled, jobs end, titles are made of prompts, pending asks stay. It waits until everything is recorded or ctx ends.
func (e *Engine) Close(ctx context.Context) error {
	e.StopAccepting()
	return errors.Join(e.coordinator.close(ctx), e.Jobs.EndAll(ctx, "", cause.ErrShutdown), e.titles.close(ctx))
}

// StopAccepting refuses new work from now on: prompts, sessions and choices. What was accepted goes on.
func (e *Engine) StopAccepting() {
	e.closed.Store(true)
}

// accepting fails once that was said, so that nothing is acknowledged that nobody would work on.
func (e *Engine) accepting() error {
	if e.closed.Load() {
		return session.Errorf(session.CodeUnavailable, "cairn is shutting down; try again in a moment")
	}
	return nil
}
