// Package eventlog is the record: it appends facts, replays them, and tells whoever follows a session that there is
// something to read.
//
// A fact and its rows commit in one transaction, under the next seq of its session; only then do readers hear of it.
// Wake-ups are hints and coalesce; rows are the truth. Live text is not queued: an open item has one buffer, and every
// reader keeps its own offset into it. So a slow reader gets fewer and larger fragments, never a gap, costs no memory,
// and holds up nobody; a fast one gets every delta as it comes.
package eventlog

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Log is the one log of a store. Safe for concurrent use.
type Log struct {
	store     *store.DamageTracker
	ids       *session.IDs
	now       func() time.Time
	hub       hub
	feedCache feedCache
	verified  verifiedSet
}

// Config of a Log. IDs is needed; Now defaults to the wall clock. What others find damaged in the Store the Log knows if
// it is a store.Watched that it shares with them.
type Config struct {
	Store store.Store
	IDs   *session.IDs
	Now   func() time.Time
}

// New returns the log of the store. There must be one per store and process, or readers miss wake-ups.
func New(c Config) *Log {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Log{store: store.TrackDamage(c.Store), ids: c.IDs, now: c.Now, hub: newHub(), feedCache: newFeedCache()}
}

// Publish makes live progress visible: delta continues the open item, which a committed event has started. It never
// blocks and is lost on nobody who follows the session. Progress of an item that is not open is dropped.
func (l *Log) Publish(id session.ID, part session.PartID, delta string) {
	l.hub.publish(id, part, delta, l.now().UnixMilli())
}

// Notify makes a live notice visible to readers of the feed: kind and data of an event that is not durable. Readers
// that lag behind by more than a bounded number of notices miss the oldest.
func (l *Log) Notify(n Notice) { l.hub.notify(n) }

// NewestMark says up to where a reader of the feed has come that has read all there is.
func (l *Log) NewestMark() Mark { return l.hub.newestMark() }

// Mark is a place in the feed: behind an event, and behind a notice. Since is the event behind which a reader was there:
// items that end behind it are told with all of their text, as to who read meanwhile; 0 is not known.
type Mark struct{ Position, Notice, Since int64 }

// Notice is a live-only announcement, such as session.status. Number is set for readers: all are told of the same notices
// by rising numbers.
type Notice struct {
	Number    int64
	Kind      string
	SessionID session.ID
	Data      jsontext.Value
}
