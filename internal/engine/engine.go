// Package engine is the loop: it admits prompts into a session's durable inbox, promotes them at safe boundaries, runs
// provider turns, settles tool calls, answers asks, interrupts, and recovers. It is the only writer of the log.
//
// A session changes in one way: the engine appends events; their rows commit with them. Work on a session is a drain,
// of which there is at most one (coordinator.go). A drain has no durable identity: after a crash everything is decided
// from the rows (recover.go). What happened is recorded even when we are leaving: recording an outcome never takes the
// cancellable context.
package engine

import (
	"cmp"
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

// Limits bounds the engine. Zero fields take the defaults of DefaultLimits.
type Limits struct {
	Pending       int           // admitted prompts per session
	SteerBatch    int           // steers promoted at one boundary
	Sessions      int           // drains that work at the same time
	CallTools     int           // tools of one turn at the same time
	Tools         int           // tools of the process at the same time
	Turns         int           // provider turns per promoted input before the engine asks
	Attempts      int           // attempts per provider turn
	EmptyRepeats  int           // attempts more after an empty answer
	SpokenRepeats int           // attempts more after an answer that broke off when something of it was shown, and is said again
	RetryTime     time.Duration // from the first failure of a turn to giving up
	Recoveries    int           // times that work of one input is resumed after a crash
	PromptBytes   int           // size of one prompt, attachments included
	ImageBytes    int           // size of one attached image in base64
	FileBytes     int           // size of any attached file
	AnswerBytes   int           // of one provider turn: text, reasoning and arguments together
	Checkpoint    time.Duration // how much streamed text may be lost, in time
	CheckBytes    int           // and in bytes
}

// DefaultLimits are those of spec/v2 §28.11, §28.16, §32 and spec/guarantees G7, G20, G21, G23.
func DefaultLimits() Limits {
	return Limits{
		Pending: 64, SteerBatch: 16, Sessions: 32, CallTools: 16, Tools: 64, Turns: 200, Attempts: 8, EmptyRepeats: 2, SpokenRepeats: 1,
		RetryTime: 10 * time.Minute, Recoveries: 2, PromptBytes: 16 << 20, AnswerBytes: 16 << 20, ImageBytes: 5 << 20, FileBytes: 10 << 20,
		Checkpoint: 900 * time.Millisecond, CheckBytes: 16 << 10,
	}
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

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.Pending = cmp.Or(l.Pending, d.Pending)
	l.SteerBatch = cmp.Or(l.SteerBatch, d.SteerBatch)
	l.Sessions = cmp.Or(l.Sessions, d.Sessions)
	l.CallTools = cmp.Or(l.CallTools, d.CallTools)
	l.Tools = cmp.Or(l.Tools, d.Tools)
	l.Turns = cmp.Or(l.Turns, d.Turns)
	l.Attempts = cmp.Or(l.Attempts, d.Attempts)
	l.EmptyRepeats = cmp.Or(l.EmptyRepeats, d.EmptyRepeats)
	l.SpokenRepeats = cmp.Or(l.SpokenRepeats, d.SpokenRepeats)
	l.RetryTime = cmp.Or(l.RetryTime, d.RetryTime)
	l.Recoveries = cmp.Or(l.Recoveries, d.Recoveries)
	l.PromptBytes = cmp.Or(l.PromptBytes, d.PromptBytes)
	l.ImageBytes = cmp.Or(l.ImageBytes, d.ImageBytes)
	l.FileBytes = cmp.Or(l.FileBytes, d.FileBytes)
	l.AnswerBytes = cmp.Or(l.AnswerBytes, d.AnswerBytes)
	l.Checkpoint = cmp.Or(l.Checkpoint, d.Checkpoint)
	l.CheckBytes = cmp.Or(l.CheckBytes, d.CheckBytes)
	return l
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
