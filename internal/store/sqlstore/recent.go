package sqlstore

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Lists of what changed last read an index from its end. A session changes several times in a turn, and an index by
// time_updated would write its pages each time; so the index is by recent, which is time_updated of a session that is new,
// and afterwards the end of the minute or so in which it changed. It is never before time_updated: whoever has found as many
// as were asked for, and comes to a recent before all of them, has found the right ones.

// minute is how far recent may be behind time_updated, in milliseconds.
const minute = 1 << 16

// endOfMinute is what recent is set to by a change at ?9.
const endOfMinute = `((?9 >> 16) + 1 << 16)`

// ?1 is how far recent may be, at most.
const recentFirst = ` AND recent BETWEEN ?8 AND ?1 AND time_updated >= ?8 AND time_updated < ?9 ORDER BY recent DESC`

const (
	listRecent            = `SELECT id, crc, data, recent, time_updated FROM session WHERE `
	sessionsAnyRecent     = listRecent + byAny + sessionsWhere + titled + recentFirst
	sessionsProjectRecent = listRecent + byProject + sessionsWhere + titled + recentFirst
)

// recent lists what changed last.
func (r *Reader) recent(q store.SessionQuery) ([]*session.Session, error) {
	sql := sessionsAnyRecent
	if q.ProjectID != "" {
		sql = sessionsProjectRecent
	}
	if q.Before == 0 || q.Before > math.MaxInt64-minute {
		q.Before = math.MaxInt64 - minute
	}
	c := r.call(sql)
	c.int(q.Before + minute)
	c.where(q)
	c.int(q.Since)
	c.int(q.Before)
	found := latest{limit: q.Limit, sessions: []*session.Session{}}
	for c.next() && !found.complete(c.st.Int(3)) {
		if !found.wants(c.st.Int(4)) {
			continue
		}
		s, err := r.readSession(&c, "")
		if err != nil {
			c.err = err
			break
		}
		if s != nil {
			found.add(s)
		}
	}
	if err := c.end("list", "sessions"); err != nil {
		return nil, err
	}
	return found.sorted(), nil
}

// latest gathers the sessions that changed last; limit 0 is all of them.
type latest struct {
	limit    int
	sessions []*session.Session
	full     bool
	floor    int64 // when full: as many as the limit changed then or later
}

// complete reports whether nothing that changed until then is among the latest.
func (l *latest) complete(until int64) bool { return l.full && until < l.floor }

// wants reports whether a session that changed at the time may be among the latest.
func (l *latest) wants(updated int64) bool { return !l.full || updated >= l.floor }

// add adds a session, and sorts out as often as there are as many new ones as are wanted.
func (l *latest) add(s *session.Session) {
	l.sessions = append(l.sessions, s)
	switch {
	case l.limit <= 0, len(l.sessions) < l.limit, l.full && len(l.sessions) < 2*l.limit:
	default:
		l.sessions, l.full = l.sorted(), true
		l.floor = l.sessions[l.limit-1].Time.Updated
	}
}

// sorted returns them, what changed last first, by (updated, id).
func (l *latest) sorted() []*session.Session {
	slices.SortFunc(l.sessions, func(a, b *session.Session) int {
		return cmp.Or(cmp.Compare(b.Time.Updated, a.Time.Updated), cmp.Compare(b.ID, a.ID))
	})
	if l.limit > 0 && len(l.sessions) > l.limit {
		clear(l.sessions[l.limit:])
		l.sessions = l.sessions[:l.limit]
	}
	return l.sessions
}
