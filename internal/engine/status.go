package engine

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// Status is what a session is doing now, for people. It is live only: after a restart it follows from the rows.
type Status struct {
	Type    StatusType `json:"type"`
	Attempt int        `json:"attempt,omitzero"` // with retry
	Message string     `json:"message,omitzero"`
	Next    int64      `json:"next,omitzero"` // when the next attempt is made, milliseconds
}

// StatusType is the kind of a Status.
type StatusType string

// The statuses (spec/v2 §28.17).
const (
	StatusIdle     StatusType = "idle"
	StatusQueued   StatusType = "queued" // waits for other sessions of the process
	StatusBusy     StatusType = "busy"
	StatusRetry    StatusType = "retry"
	StatusAwaiting StatusType = "awaiting-permission"
	StatusQuestion StatusType = "awaiting-answer"
)

// statusBoard holds the status of every session that is not idle.
type statusBoard struct {
	mu    sync.Mutex // guards the rest
	m     map[session.ID]Status
	calls map[session.ID]int // tool calls that were begun and have no outcome yet
}

// calling says that n more calls of the session run, fewer if n is negative.
func (b *statusBoard) calling(id session.ID, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls == nil {
		b.calls = map[session.ID]int{}
	}
	if b.calls[id] += n; b.calls[id] == 0 {
		delete(b.calls, id)
	}
}

// Rests reports whether all that the session does is to wait for people, so that the next process can wait as well. It
// is false from the moment that a reply is stored, until what was asked for has come to its end; and while another call
// of the turn runs.
func (e *Engine) Rests(id session.ID) bool {
	asks := e.Asks.CountWaiting(id)
	e.statuses.mu.Lock()
	defer e.statuses.mu.Unlock()
	return asks > 0 && asks >= e.statuses.calls[id]
}

func (b *statusBoard) set(e *Engine, id session.ID, s Status) {
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
		e.notifyStatus(id, s)
	}
}

// Status returns what the session is doing.
func (e *Engine) Status(id session.ID) Status {
	e.statuses.mu.Lock()
	defer e.statuses.mu.Unlock()
	if s, ok := e.statuses.m[id]; ok {
		return s
	}
	return Status{Type: StatusIdle}
}

// notifyStatus shows the status to live readers.
func (e *Engine) notifyStatus(id session.ID, s Status) {
	e.journal.Notify("session.status", id, map[string]any{"sessionID": id, "status": s})
}
