package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// cachedSession is what the engine keeps of a session between turns. Only the session's drain uses it.
type cachedSession struct {
	history *history.History
	size    atomic.Int64       // messages of history, as of the last read
	grants  ask.Grants         // of the session's budget
	sent    history.SentPrefix // by the newest turn
}

// historyCache keeps the histories of sessions that ran lately, so that a turn reads new messages only. The mutex
// guards the map; a history belongs to its session's drain.
type historyCache struct {
	mu    sync.Mutex
	m     map[session.ID]*cachedSession
	order []session.ID // oldest first
}

// Bounds of the cache: sessions, and messages of all of them.
const (
	maxCachedSessions = 64
	maxCachedMessages = 20_000
)

// countMessages returns the number of messages. A history that its drain is reading counts with its last size: the
// bound is a rough one.
func (c *historyCache) countMessages() (n int) {
	for _, s := range c.m {
		n += int(s.size.Load())
	}
	return n
}

// Get returns the session's entry, and adds it if it is missing.
func (c *historyCache) Get(id session.ID) *cachedSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.m[id]; s != nil {
		return s
	}
	if c.m == nil {
		c.m = map[session.ID]*cachedSession{}
	}
	for len(c.order) > 0 && (len(c.order) >= maxCachedSessions || c.countMessages() > maxCachedMessages) {
		delete(c.m, c.order[0])
		c.order = c.order[1:]
	}
	s := &cachedSession{history: history.New()}
	c.m[id] = s
	c.order = append(c.order, id)
	return s
}

// Delete removes the session's entry.
func (c *historyCache) Delete(id session.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.m, id)
	c.order = slices.DeleteFunc(c.order, func(o session.ID) bool { return o == id })
}

// readHistory brings the session's history up to date. Messages before the newest open turn change by edits only, so it
// reads only those after it.
func (c *historyCache) readHistory(r store.Reader, s *session.Session) (*history.History, error) {
	cached := c.Get(s.ID)
	h := cached.history
	compaction := int64(-1)
	m, ok, err := store.NewestMessage(r, s.ID, session.TypeCompaction)
	if err != nil {
		return nil, err
	}
	if ok {
		compaction = m.Meta().Seq
	}
	if h.IsStale(compaction, s.Edits) {
		shown, err := store.ReadVisibleRange(r, s.ID)
		if err != nil {
			return nil, err
		}
		var lead []session.Message
		if shown.Prompt > 0 && shown.Prompt <= shown.After() {
			if lead, err = store.ReadMessages(r, s.ID, store.MessageQuery{After: shown.Prompt - 1, Limit: 1}); err != nil {
				return nil, err
			}
		}
		h.Restart(shown, s.Edits, lead...)
	}
	fresh, err := store.ReadMessages(r, s.ID, store.MessageQuery{After: h.AfterSeq()})
	if err != nil {
		return nil, err
	}
	h.ExtendMessages(fresh)
	cached.size.Store(int64(len(h.Messages())))
	return h, nil
}
