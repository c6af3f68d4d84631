package admit

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/session"
)

// Scheduler runs the work of sessions, at most one piece per session at a time.
type Scheduler interface {
	// Wake makes the session look at its inbox. With resume it also continues work that was cut off.
	Wake(id session.ID, resume bool)
	// EndPause ends the session's wait before its next attempt, if it waits.
	EndPause(id session.ID)
	// RunIdle runs f as the session's work and returns its error. It returns false if the session is not idle. If ctx
	// ends, only the wait for f does.
	RunIdle(ctx context.Context, id session.ID, f func(context.Context) error) (idle bool, err error)
	// RunAtBoundary runs f while no turn of the session runs: at once if it is idle, else between two turns or after the
	// last one, which go on afterwards. It returns the error of f. If ctx ends before f has begun, f does not run.
	RunAtBoundary(ctx context.Context, id session.ID, f func(context.Context) error) error
	// ShowBusy shows the session as busy, until the function that RunIdle runs for it has returned.
	ShowBusy(id session.ID)
	// IsIdle reports whether the session has no work in this process.
	IsIdle(id session.ID) bool
	// EndLeftOpen ends what an earlier process left open in the session and its subagents, as an interrupt would. It is
	// called within RunIdle.
	EndLeftOpen(ctx context.Context, id session.ID) error
	// Stop ends all work of a session, in the foreground and background, and waits until that is recorded.
	Stop(ctx context.Context, id session.ID) error
	// EndTasks ends the session's tasks in the background that began at the time or later, without a report, and waits
	// until that is recorded.
	EndTasks(ctx context.Context, id session.ID, since int64) error
	// Forget ends what a late Wake began in a deleted session, and frees what is cached of it.
	Forget(ctx context.Context, id session.ID) error
}

// OutputRemover are the files that sessions have outside of the store.
type OutputRemover interface {
	// Remove removes the session's managed files and those of the paths that are managed files, if isUnused reports true
	// for the session that owns the file, "" if its name does not contain one.
	Remove(id session.ID, paths []string, isUnused func(owner session.ID) (bool, error)) error
	// RemoveContents removes the contents of files that only the session, which was deleted, needed for reverts and diffs.
	// It does not wait for that.
	RemoveContents(id session.ID)
}

// Checkouts changes the working trees of version control.
type Checkouts interface {
	// CopyChanges copies the uncommitted changes of the working tree around one directory to that around another: all of
	// them, or none with an error. It changes nothing if both are in one working tree.
	CopyChanges(ctx context.Context, from, to string) (ChangesCopy, error)
	// CompleteCopy removes from the first working tree the changes that both have, as after a CopyChanges of which Remove
	// was cut off. It returns the files that are changed in the first one only, and stay.
	CompleteCopy(ctx context.Context, from, to string) (left []string, err error)
}

// ChangesCopy are uncommitted changes that are in two working trees.
type ChangesCopy interface {
	// Remove removes them from the first one, unless its files have changed since.
	Remove(ctx context.Context) error
	// TakeBack removes them from the second one.
	TakeBack(ctx context.Context) error
}

// Limits bounds what callers may send. Every limit is required.
type Limits struct {
	Pending     int // admitted prompts per session
	PromptBytes int // one prompt with its attachments, or one shell command
	ImageBytes  int // one attached image, in base64
	FileBytes   int // one attached file
	AnswerBytes int // text that replaces an item of a turn
}

// Config of a Commands. All fields but Outputs and Checkouts are required.
type Config struct {
	Journal   *turnlog.Journal
	Locations scope.Scopes
	Scheduler Scheduler
	Outputs   OutputRemover
	Checkouts Checkouts // nil: sessions move without changes
	Changes   *undo.ChangeRecorder
	Limits    Limits
	Tools     *semaphore.Weighted // one unit per tool call of the process
	Version   string              // of cairn, stored with each session
	// CheckOpen returns an error once the process accepts no new work.
	CheckOpen func() error
	// CheckRoom returns an error if no new work may begin for want of room; nil allows it.
	CheckRoom func() error
	// MakeRoom frees space of a full disk for a deletion, and reports whether it freed something; nil frees nothing.
	MakeRoom func() bool
	// Created is called with each new session.
	Created func(s *scope.Scope, info *session.Session)
}

// Commands executes commands. Safe for concurrent use.
type Commands struct {
	journal   *turnlog.Journal
	locations scope.Scopes
	scheduler Scheduler
	outputs   OutputRemover // may be nil
	checkouts Checkouts     // may be nil
	changes   *undo.ChangeRecorder
	limits    Limits
	tools     *semaphore.Weighted
	version   string
	checkOpen func() error
	checkRoom func() error
	makeRoom  func() bool // may be nil
	created   func(s *scope.Scope, info *session.Session)
	withdrawn withdrawnIDs
}

// NewCommands returns the commands for the sessions of the journal.
func NewCommands(c Config) *Commands {
	return &Commands{
		journal: c.Journal, locations: c.Locations, scheduler: c.Scheduler, outputs: c.Outputs, checkouts: c.Checkouts, limits: c.Limits,
		changes: c.Changes, tools: c.Tools, version: c.Version, checkOpen: c.CheckOpen,
		checkRoom: c.CheckRoom, makeRoom: c.MakeRoom, created: c.Created,
	}
}

// checkRequest returns the error of checkNewWork, or for a part of work under way that of checkOpen: that goes on until it ends.
func (c *Commands) checkRequest(isUnderWay bool) error {
	if isUnderWay {
		return c.checkOpen()
	}
	return c.checkNewWork()
}

// checkNewWork returns an error if no new work is accepted, or if there is no room for its results.
func (c *Commands) checkNewWork() error {
	if err := c.checkOpen(); err != nil || c.checkRoom == nil {
		return err
	}
	return c.checkRoom()
}
