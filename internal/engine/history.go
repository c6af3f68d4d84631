package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// history is what the model may be shown: the messages since the newest compaction, in order. It belongs to the
// session's drain.
type history struct {
	messages []session.Message
	shown    store.Shown // as it was when the newest compaction was first seen
	stable   int         // messages[:stable] change by edits only
	edits    int         // of the session, that the messages are read behind
	size     atomic.Int64
	raises   raises // of the session's limits
	sent     sent   // by the newest turn
}

// historyCache keeps the histories of sessions that were at work lately, so that a turn reads only what is new. Only
// a session's drain touches its history; the mutex guards the map.
type historyCache struct {
	mu    sync.Mutex
	m     map[session.ID]*history
	order []session.ID
}

// What is kept: sessions, and messages of all of them.
const (
	keptHistories = 64
	keptMessages  = 20_000
)

// size counts the messages. A history that its drain is changing is counted as it was: the bound is a rough one.
func (c *historyCache) size() (n int) {
	for _, h := range c.m {
		n += int(h.size.Load())
	}
	return n
}

func (c *historyCache) get(id session.ID) *history {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.m[id]; h != nil {
		return h
	}
	if c.m == nil {
		c.m = map[session.ID]*history{}
	}
	for len(c.order) > 0 && (len(c.order) >= keptHistories || c.size() > keptMessages) {
		delete(c.m, c.order[0])
		c.order = c.order[1:]
	}
	h := &history{shown: store.Shown{Compaction: -1, Baseline: -1}}
	c.m[id] = h
	c.order = append(c.order, id)
	return h
}

func (c *historyCache) forget(id session.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.m, id)
	c.order = slices.DeleteFunc(c.order, func(o session.ID) bool { return o == id })
}

// history returns the session's history as of now. But for edits, messages behind the newest turn never change, so only what
// follows them is read again.
func (d *drain) history(ctx context.Context) (*history, error) {
	h := d.histories.get(d.id)
	err := d.store.View(ctx, func(r store.Reader) error {
		from := int64(-1)
		m, ok, err := r.NewestOf(d.id, session.TypeCompaction)
		if err != nil {
			return err
		}
		if ok {
			from = m.Meta().Seq
		}
		s, err := journal.FindSession(r, d.id)
		if err != nil {
			return err
		}
		if from != h.shown.Compaction || s.Edits != h.edits {
			epoch, ok, err := r.Epoch(d.id)
			if err != nil {
				return err
			}
			h.messages, h.stable, h.edits, h.shown = nil, 0, s.Edits, store.Shown{Compaction: from, Baseline: -1}
			if ok {
				h.shown.Baseline = epoch.BaselineSeq
			}
		}
		after := h.shown.After()
		if h.stable > 0 {
			after = h.messages[h.stable-1].Meta().Seq
		}
		fresh, err := r.Messages(d.id, store.MessageQuery{After: after})
		if err != nil {
			return err
		}
		h.messages = h.messages[:h.stable:h.stable]
		for _, m := range fresh {
			if h.shown.Has(m.Meta().Type, m.Meta().Seq) {
				h.messages = append(h.messages, m)
			}
		}
		return nil
	})
	if err != nil {
		d.histories.forget(d.id)
		return nil, err
	}
	h.seal()
	h.size.Store(int64(len(h.messages)))
	return h, nil
}

// seal finds up to where messages can no longer change: before the first that is open.
func (h *history) seal() {
	for h.stable < len(h.messages) {
		switch m := h.messages[h.stable].(type) {
		case *session.Assistant:
			if m.Open() {
				return
			}
		case *session.Shell:
			if m.Time.Completed == 0 {
				return
			}
		}
		h.stable++
	}
}

// open returns the turns that have not ended.
func (h *history) open() []*session.Assistant {
	var turns []*session.Assistant
	for _, m := range h.messages[h.stable:] {
		if a, ok := m.(*session.Assistant); ok && a.Open() {
			turns = append(turns, a)
		}
	}
	return turns
}

// visible returns the messages that a model is shown beside a baseline that covers everything up to baselineSeq. The
// result shares nothing that changes.
func (h *history) visible(baselineSeq int64) []session.Message {
	shown := store.Shown{Compaction: h.shown.Compaction, Baseline: baselineSeq}
	ms := make([]session.Message, 0, len(h.messages))
	for _, m := range h.messages {
		if shown.Has(m.Meta().Type, m.Meta().Seq) {
			ms = append(ms, m)
		}
	}
	return ms
}
