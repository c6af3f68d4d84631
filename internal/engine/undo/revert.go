package undo

import (
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
)

// Reverter plans, stages, clears and completes reverts of the sessions of a worktree. Only Plan, CheckTarget and
// ReadDiff may be called while the session works.
type Reverter struct {
	Journal *turnlog.Journal
	Changes *ChangeRecorder
	Files   scope.Worktree // nil if snapshots are disabled: no file is restored

	rule rule // planFile if nil; tests replace it
}
