package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// CachedSession is the cached state of a session. Only the session's drain uses it.
type CachedSession struct {
	Grants ask.Grants         // of the session's budget
	Sent   history.SentPrefix // by the newest turn
	// Windows are the context windows in tokens that providers named when they refused a request, nil without any.
	Windows map[session.ModelRef]int64

	history *history.History
	size    atomic.Int64 // messages of history, as of the last read
}

// Histories keeps the histories of sessions that ran lately, so that a turn reads new messages only. The mutex guards
// the map; a history belongs to its session's drain. The zero Histories is ready for use.
type Histories struct {
	mu    sync.Mutex
	m     map[session.ID]*CachedSession
	order []session.ID // oldest first
}

// Bounds of the cache: sessions, and messages of all of them.
const (
	maxSessions = 64
	maxMessages = 20_000
)

// countMessages returns the number of messages. A history that its drain is reading counts with its last size: the
// bound is a rough one.
func (c *Histories) countMessages() (n int) {
	for _, s := range c.m {
		n += int(s.size.Load())
	}
	return n
}

// Get returns the session's entry, and adds it if it is missing.
func (c *Histories) Get(id session.ID) *CachedSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.m[id]; s != nil {
		return s
	}
	if c.m == nil {
		c.m = map[session.ID]*CachedSession{}
	}
	for len(c.order) > 0 && (len(c.order) >= maxSessions || c.countMessages() > maxMessages) {
		delete(c.m, c.order[0])
		c.order = c.order[1:]
	}
	s := &CachedSession{history: history.New()}
	c.m[id] = s
	c.order = append(c.order, id)
	return s
}

// Delete removes the session's entry.
func (c *Histories) Delete(id session.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.m, id)
	c.order = slices.DeleteFunc(c.order, func(o session.ID) bool { return o == id })
}

// ReadHistory brings the session's history up to date. Messages before the newest open turn change by edits only, so it
// reads only those after it.
func (c *Histories) ReadHistory(r store.Reader, s *session.Session) (*history.History, error) {
	cached := c.Get(s.ID)
	h := cached.history
	// A new compaction or an edit makes the cached messages stale.
	compaction := int64(-1)
	m, ok, err := store.NewestMessage(r, s.ID, session.TypeCompaction)
	if err != nil {
		return nil, err
	}
	if ok {
		compaction = m.Meta().Seq
	}
	// Then start over at the first message that is visible, with what is hidden but still applies.
	if h.IsStale(compaction, s.Edits) {
		shown, err := store.ReadVisibleRange(r, s.ID)
		if err != nil {
			return nil, err
		}
		hidden, err := readHidden(r, s.ID, shown)
		if err != nil {
			return nil, err
		}
		h.Restart(shown, s.Edits, hidden)
	}
	// Read what is new, and the open turn again: it may have grown.
	fresh, err := store.ReadMessages(r, s.ID, store.MessageQuery{After: h.AfterSeq()})
	if err != nil {
		return nil, err
	}
	h.ExtendMessages(fresh)
	cached.size.Store(int64(len(h.Messages())))
	return h, nil
}

// readHidden reads what the session's newest compaction hides of the messages before those that it keeps.
func readHidden(r store.Reader, id session.ID, shown store.VisibleRange) (h history.Hidden, err error) {
	if shown.Compaction < 0 {
		return h, nil
	}
	for _, t := range []session.MessageType{
		session.TypeUser, session.TypeSynthetic, session.TypeShell, session.TypeAssistant,
	} {
		q := store.MessageQuery{After: -1, Before: shown.Keep, Type: t, Newest: true, Limit: 1}
		newest, err := store.ReadMessages(r, id, q)
		if err != nil {
			return h, err
		}
		for _, m := range newest {
			if h.Newest == nil || h.Newest.Meta().Seq < m.Meta().Seq {
				h.Newest = m
			}
			if u, ok := m.(*session.User); ok {
				h.Prompt = u
			}
		}
	}
	return h, nil
}
