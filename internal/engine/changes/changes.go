// Package changes records what the calls of a session do to files, and computes from that what each prompt and the
// whole session changed.
//
// A file tool announces each write before it makes it, with both contents ([CallRecorder.RecordWrites]). A command can
// change any file: what it changed is the difference between the worktree before and after it, without the files that
// calls of file tools wrote meanwhile ([CallRecorder.WatchTree]).
package changes

import (
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/session"
)

// ChangeRecorder records the changes of all sessions of the process. Safe for concurrent use. Close waits for what it
// does in the background.
type ChangeRecorder struct {
	taskQueues
	watches watches
	journal *journal.Journal

	mu      sync.Mutex // guards the rest
	ledgers map[session.ID]*Ledger
	ended   map[session.ID]time.Time // when the outcome of a command was given that is still being captured
}

// ExcludeWrites notes that the session is going to change the files without a call. Commands of other sessions that run
// meanwhile do not record these changes as theirs.
func (r *ChangeRecorder) ExcludeWrites(id session.ID, root string, files []session.FileChange) {
	r.watches.excludeWrites(id, root, files)
}

// NewChangeRecorder returns a recorder that appends to the journal.
func NewChangeRecorder(j *journal.Journal) *ChangeRecorder {
	return &ChangeRecorder{
		journal:    j,
		taskQueues: taskQueues{bySession: map[session.ID]*taskQueue{}},
		watches:    watches{byRoot: map[string][]*watch{}},
		ledgers:    map[session.ID]*Ledger{},
		ended:      map[session.ID]time.Time{},
	}
}

// outcomeTime bounds the time for which the outcome of a command waits until what it changed is recorded.
const outcomeTime = 500 * time.Millisecond

// awaitRecorded waits at most outcomeTime until the changes of a command of the session are recorded. What changes
// after it returns may be the user's, who sees the outcome of the command then.
func (r *ChangeRecorder) awaitRecorded(id session.ID, recorded <-chan struct{}) {
	timer := time.NewTimer(outcomeTime)
	defer timer.Stop()
	select {
	case <-recorded:
	case <-timer.C:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended[id] = time.Now()
	}
}

// takeEnd returns when the outcome of the session's last command was given before its changes were recorded; zero if it
// was not.
func (r *ChangeRecorder) takeEnd(id session.ID) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.ended[id]
	delete(r.ended, id)
	return at
}
