package engine

import (
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// Status is the current activity of a session, for people. It is not stored: after a restart it follows from the rows.
type Status struct {
	Type    StatusType `json:"type"`
	Attempt int        `json:"attempt,omitzero"` // with retry
	Message string     `json:"message,omitzero"`
	Next    int64      `json:"next,omitzero"` // when the next attempt is made, milliseconds
}

// StatusType is the kind of a Status.
type StatusType string

// The types of a Status.
const (
	StatusIdle     StatusType = "idle"
	StatusQueued   StatusType = "queued" // waits for other sessions of the process
	StatusBusy     StatusType = "busy"
	StatusRetry    StatusType = "retry"
	StatusAwaiting StatusType = "awaiting-permission"
	StatusQuestion StatusType = "awaiting-answer"
)

// statusBoard holds the status of every session that is not idle, and notifies live readers of changes.
type statusBoard struct {
	journal *turnlog.Journal

	mu    sync.Mutex // guards the rest
	m     map[session.ID]Status
	calls map[session.ID]int          // tool calls without outcome
	tasks map[session.ID][]session.ID // the sessions for which calls wait
}

// AddCalls counts n more running calls of the session, fewer if n is negative.
func (b *statusBoard) AddCalls(id session.ID, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls == nil {
		b.calls = map[session.ID]int{}
	}
	if b.calls[id] += n; b.calls[id] == 0 {
		delete(b.calls, id)
	}
}

// CountCalls returns the running calls of the session.
func (b *statusBoard) CountCalls(id session.ID) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[id]
}

// AddTask notes that a call of the session waits for the child session.
func (b *statusBoard) AddTask(id, child session.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks == nil {
		b.tasks = map[session.ID][]session.ID{}
	}
	b.tasks[id] = append(b.tasks[id], child)
}

// RemoveTask undoes AddTask.
func (b *statusBoard) RemoveTask(id, child session.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.tasks[id], child)
	if b.tasks[id] = slices.Delete(b.tasks[id], i, i+1); len(b.tasks[id]) == 0 {
		delete(b.tasks, id)
	}
}

// ListTasks returns the child sessions for which calls of the session wait.
func (b *statusBoard) ListTasks(id session.ID) []session.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.tasks[id])
}

// Get returns the session's status.
func (b *statusBoard) Get(id session.ID) Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.m[id]; ok {
		return s
	}
	return Status{Type: StatusIdle}
}

// Set sets the session's status.
func (b *statusBoard) Set(id session.ID, s Status) {
	b.mu.Lock()
	if b.m == nil {
		b.m = map[session.ID]Status{}
	}
	before, had := b.m[id]
	if s.Type == StatusIdle {
		delete(b.m, id)
	} else {
		b.m[id] = s
	}
	b.mu.Unlock()
	if before != s && (had || s.Type != StatusIdle) {
		b.Notify(id, s)
	}
}

// Notify notifies live readers of the status.
func (b *statusBoard) Notify(id session.ID, s Status) {
	b.journal.Notify("session.status", id, map[string]any{"sessionID": id, "status": s})
}
