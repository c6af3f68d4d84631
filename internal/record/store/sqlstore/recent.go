package sqlstore

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// Lists of recently changed sessions read an index from its end. A session changes several times per turn, and an
// index on time_updated would write its pages each time. The index is therefore on recent: time_updated of a new
// session, later the end of the minute (2^16 ms) of the last change. recent is never before time_updated, so a
// reader that has enough sessions and reaches a recent before all of theirs is done.

// minute bounds the difference between recent and time_updated, in milliseconds.
const minute = 1 << 16

// endOfMinute is the value of recent after a change at ?9.
const endOfMinute = `((?9 >> 16) + 1 << 16)`

// recentSessions lists the most recently changed sessions.
func (r *Reader) recentSessions(q store.SessionQuery) ([]store.RawSession, error) {
	index := ""
	if q.RecordID != "" {
		index = byRecord
	}
	q.Within = ""
	if q.Before == 0 || q.Before > math.MaxInt64-minute {
		q.Before = math.MaxInt64 - minute
	}
	l := newSessionList(q, index)
	l.addSearch(q.Search, titled)
	l.add(` AND recent >= ? AND time_updated >= ?`, q.Since)
	l.add(` AND time_updated < ?`, q.Before)
	l.add(` AND recent <= ? ORDER BY recent DESC`, q.Before+minute)
	c := r.prepareList(l)
	found := latest{limit: q.Limit, sessions: []store.RawSession{}}
	for c.nextRow() && !found.isComplete(c.st.Int(5)) {
		if !found.isCandidate(c.st.Int(4)) {
			continue
		}
		row, _ := r.readSession(&c)
		found.add(row)
	}
	if err := c.endCall("list", "sessions"); err != nil {
		return nil, err
	}
	return found.sortedSessions(), nil
}

// latest collects the most recently changed sessions, up to limit; 0 means all.
type latest struct {
	limit    int
	sessions []store.RawSession
	mem      store.Arena
	full     bool
	floor    int64 // when full: as many as the limit changed then or later
}

// isComplete reports whether no session that changed at or before until is among the latest.
func (l *latest) isComplete(until int64) bool { return l.full && until < l.floor }

// isCandidate reports whether a session that changed at the time may be among the latest.
func (l *latest) isCandidate(updated int64) bool { return !l.full || updated >= l.floor }

// add adds a session. Whenever it holds twice the limit, it drops the older half.
func (l *latest) add(s store.RawSession) {
	if s.Data != nil {
		s.Data = l.mem.Clone(s.Data)
	}
	l.sessions = append(l.sessions, s)
	switch {
	case l.limit <= 0, len(l.sessions) < l.limit, l.full && len(l.sessions) < 2*l.limit:
	default:
		l.sessions, l.full = l.sortedSessions(), true
		l.floor = l.sessions[l.limit-1].Updated
	}
}

// sortedSessions returns the sessions, most recently changed first, by (updated, id).
func (l *latest) sortedSessions() []store.RawSession {
	slices.SortFunc(l.sessions, func(a, b store.RawSession) int {
		return cmp.Or(cmp.Compare(b.Updated, a.Updated), cmp.Compare(b.ID, a.ID))
	})
	if l.limit > 0 && len(l.sessions) > l.limit {
		clear(l.sessions[l.limit:])
		l.sessions = l.sessions[:l.limit]
	}
	return l.sessions
}
