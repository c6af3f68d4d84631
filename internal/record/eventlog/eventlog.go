// Package eventlog is the record of sessions: it appends events, replays them, and wakes the readers that follow a
// session or all sessions.
//
// An event and the rows that it means commit in one transaction, under the next seq of its session; only then are
// readers woken. Wake-ups are hints and coalesce; the stored rows are the truth. Live text is not queued: an open item
// has one buffer, and each reader keeps its own offset into it (adr 0004). A slow reader therefore gets fewer and
// larger fragments but never a gap, costs no memory and delays no other reader; a fast reader gets every delta.
package eventlog

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Log is the log of a store. It is safe for concurrent use.
type Log struct {
	store     *store.DamageTracker
	ids       *session.IDs
	now       func() time.Time
	hub       hub
	feedCache feedCache
	verified  verifiedSet
	rows      sessionRows
	onDelete  func()
}

// Config configures a Log. IDs is required; Now defaults to the wall clock. If Store is a store.DamageTracker, the
// Log shares with its other users which sessions are damaged.
type Config struct {
	Store store.Store
	IDs   *session.IDs
	Now   func() time.Time

	OnDelete func() // runs after the deletion of a session is committed; nil does nothing
}

// New returns the log of the store. A process must have only one Log per store, or readers miss wake-ups.
func New(c Config) *Log {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.OnDelete == nil {
		c.OnDelete = func() {}
	}
	return &Log{store: store.TrackDamage(c.Store), ids: c.IDs, now: c.Now, hub: newHub(), feedCache: newFeedCache(), onDelete: c.OnDelete}
}

// Publish makes live progress visible: delta continues the open item, which a committed event has started. It never
// blocks, and every reader of the session gets it. Progress of an item that is not open is dropped.
func (l *Log) Publish(id session.ID, part session.PartID, delta string) {
	l.hub.publish(id, part, delta, l.now().UnixMilli())
}

// Notify makes a live notice visible to readers: kind and data of an event that is not durable. A reader that lags
// by more than a bounded number of notices misses the oldest.
func (l *Log) Notify(n Notice) { l.hub.notify(n) }

// NewestMark returns the position of a reader that has read everything.
func (l *Log) NewestMark() Mark { return l.hub.newestMark() }

// Mark is a position of a reader of all sessions: after an event and after a notice. Since is the event position at
// which the reader was live before: an item that ended after it is sent with its whole text; 0 means unknown.
// With LiveEnd the text so far of items that are still open is not sent.
type Mark struct {
	Position, Notice, Since int64

	LiveEnd bool
}

// Notice is a live-only announcement, such as session.status. Number is set for readers; it increases and is the
// same for all of them.
type Notice struct {
	Number    int64
	Kind      string
	SessionID session.ID
	Directory string // of the location that the notice is about; "" if it is about a session, or about all locations
	Data      jsontext.Value
}
