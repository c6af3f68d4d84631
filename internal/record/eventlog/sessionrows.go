package eventlog

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxSessionRows bounds the rows that sessionRows holds. Beyond it, all are dropped.
const maxSessionRows = 64

// sessionRows holds the rows of the sessions that were appended to last, so that an append does not read them again.
// A row belongs to a seq: it is the fold of the session's events up to it, and useless once others follow.
type sessionRows struct {
	mu   sync.Mutex // guards rows
	rows map[session.ID]*sessionRow
}

type sessionRow struct {
	seq     int64            // of the newest event that was applied
	session *session.Session // nil while an append changes it
}

// takeRow removes the session's row and returns it, nil if it is not held for this seq, and the slot to put it back.
func (c *sessionRows) takeRow(id session.ID, seq int64) (*sessionRow, *session.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil || len(c.rows) >= maxSessionRows && c.rows[id] == nil {
		c.rows = map[session.ID]*sessionRow{}
	}
	slot := c.rows[id]
	if slot == nil {
		slot = &sessionRow{}
		c.rows[id] = slot
	}
	row := slot.session
	slot.session = nil
	if slot.seq != seq {
		return slot, nil
	}
	return slot, row
}

// putRow holds a committed row, unless the slot was dropped meanwhile. The caller does not use the row again.
func (c *sessionRows) putRow(slot *sessionRow, seq int64, row *session.Session) {
	if row == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows[row.ID] == slot && (slot.session == nil || slot.seq < seq) {
		slot.seq, slot.session = seq, row
	}
}

// dropRow forgets the row of a session that is being deleted. Its id may be used again, from seq 0.
func (c *sessionRows) dropRow(id session.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rows, id)
}
