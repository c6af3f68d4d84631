// Package changes records what the calls of a session do to files, and computes what a session has changed: for each
// prompt, and altogether.
//
// A file tool changes files exactly as it says before. A command can change anything: what it changed is the difference
// between the worktree before and after it, less what other calls wrote meanwhile.
package changes

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/session"
)

// ChangeRecorder records the changes of all sessions of the process. Safe for concurrent use.
type ChangeRecorder struct {
	tasks
	watches watches
	journal *journal.Journal

	mu      sync.Mutex // guards ledgers
	ledgers map[session.ID]*Ledger
}

// NewChangeRecorder returns a recorder.
func NewChangeRecorder(j *journal.Journal) *ChangeRecorder {
	return &ChangeRecorder{
		journal: j, tasks: tasks{work: map[session.ID]*background{}}, watches: watches{byRoot: map[string][]*watch{}},
		ledgers: map[session.ID]*Ledger{},
	}
}
