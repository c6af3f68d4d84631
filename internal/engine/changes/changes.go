// Package changes records what the calls of a session do to files, and computes from that what each prompt and the
// whole session changed.
//
// A file tool announces each write before it makes it, with both contents ([CallRecorder.RecordWrites]). A command can
// change any file: what it changed is the difference between the worktree before and after it, without the files that
// calls of file tools wrote meanwhile ([CallRecorder.WatchTree]).
package changes

import (
	"context"
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
	ended   map[session.ID]time.Time // when the work of a session ended whose last command is still being captured
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

// endTime bounds the time for which the outcome of a command, and the end of work, wait for what the command changed.
// What the user writes after that is not the command's.
const endTime = 500 * time.Millisecond

// AwaitEnd waits at most endTime until the changes of the session's commands are recorded, even if ctx has ended. Files
// that change after it returns are not the session's.
func (r *ChangeRecorder) AwaitEnd(ctx context.Context, id session.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if r.AwaitSession(ctx, id) != nil { // the time is over
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended[id] = time.Now()
	}
}

// takeEnd returns when the work of the session ended, whose last command has been captured now; zero if it had not.
func (r *ChangeRecorder) takeEnd(id session.ID) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.ended[id]
	delete(r.ended, id)
	return at
}
