// Package revert takes back what a session did. It plans which files return to which state, restores them, and returns
// the events that hide or remove messages.
//
// Only files that the session wrote are touched, and only if they are still as the session left them. Another file is a
// conflict: it stays as it is and is named. A forced revert restores it as well and makes a copy of what it held.
//
// A revert is staged first: files are restored and messages hidden. Clearing it brings both back. Committing it, which
// the next prompt does as well, removes the messages. The plan is stored before the first file is touched, so that
// after a crash the next process completes it ([Reverter.Resume]).
//
// A file passes through these steps: its chain of recorded changes and its present state give a filePlan (planFile);
// the plans of all files are a session.Revert (Plan); that is stored and then carried out (StageRevert, Resume).
package revert

import (
	"github.com/cairn-dev/cairn/internal/engine/changes"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
)

// Reverter plans, stages, clears and completes reverts of the sessions of a worktree. Only Plan, CheckTarget and
// ReadDiff may be called while the session works.
type Reverter struct {
	Journal *turnlog.Journal
	Changes *changes.ChangeRecorder
	Files   scope.Worktree // nil if snapshots are disabled: no file is restored

	rule rule // planFile if nil; tests replace it
}
