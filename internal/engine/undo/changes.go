package undo

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// ChangeRecorder records the changes of all sessions of the process. Safe for concurrent use. Close waits for what it
// does in the background.
type ChangeRecorder struct {
	taskQueues
	watches watches
	journal *turnlog.Journal

	mu      sync.Mutex // guards ledgers
	ledgers map[session.ID]*Ledger
}

// ExcludeWrites notes that the session is going to change the files without a call. Commands of other sessions that run
// meanwhile do not record these changes as theirs.
func (r *ChangeRecorder) ExcludeWrites(id session.ID, root string, files []session.FileChange) {
	r.watches.excludeWrites(id, root, files)
}

// NewChangeRecorder returns a recorder that appends to the journal.
func NewChangeRecorder(j *turnlog.Journal) *ChangeRecorder {
	return &ChangeRecorder{
		journal:    j,
		taskQueues: taskQueues{bySession: map[session.ID]*taskQueue{}},
		watches:    watches{byRoot: map[string][]*watch{}},
		ledgers:    map[session.ID]*Ledger{},
	}
}

// outcomeTime bounds the time for which the outcome of a command waits until what it changed is recorded.
const outcomeTime = 500 * time.Millisecond

// awaitOutcome waits at most outcomeTime until the changes of a command are recorded. If it stops waiting before, it
// stores the time in given: from then on the user sees the outcome of the command, and a change may be the user's.
func awaitOutcome(recorded <-chan struct{}, given *atomic.Pointer[time.Time]) {
	timer := time.NewTimer(outcomeTime)
	defer timer.Stop()
	select {
	case <-recorded:
	case <-timer.C:
		now := time.Now()
		given.Store(&now)
	}
}
