package sqlstore

import (
	"math"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// RawSessions implements store.SessionReader.
func (r *Reader) RawSessions(q store.SessionQuery) ([]store.RawSession, error) {
	if q.Recent {
		return r.recentSessions(q)
	}
	l := newSessionList(q, findIndex(q))
	l.addSearch(q.Search, amongTitled)
	l.addOrder(q)
	c := r.prepareList(l)
	out := []store.RawSession{}
	var mem store.Arena
	for c.nextRow() {
		row, whole := r.readSession(&c)
		if whole {
			row.Data = mem.Clone(row.Data)
		}
		out = append(out, row)
	}
	if err := c.endCall("list", "sessions"); err != nil {
		return nil, err
	}
	return out, nil
}

// Conditions by which a list can read an index; ? is the parameter.
const (
	byProject   = `project_id = ?`
	byDirectory = `directory = ?`
	byParent    = `parent_id = ?`
	byAncestor  = `id IN (WITH RECURSIVE below (id) AS (SELECT id FROM session WHERE parent_id = ?
		UNION SELECT s.id FROM below JOIN session s ON s.parent_id = below.id) SELECT id FROM below)`
)

// Conditions that are tested row by row. They read columns only: one that reads the JSON of a row fails the whole list
// where a row is damaged. A search tests the title in an index before it reads the row: in the list's
// own index (titled), or in one that first collects the matching rows.
const (
	belowPath = `(subpath = ? OR (subpath >= ? || '/' AND subpath < ? || '0')
		OR (subpath = '' AND project_id IN ('', 'global')
		AND (directory = '/' || ? OR (directory >= '/' || ? || '/' AND directory < '/' || ? || '0'))))`
	notArchived = `time_archived = 0`
	titled      = `instr(title, ?) > 0`
	amongTitled = `+rowid IN (SELECT rowid FROM session WHERE instr(title, ?) > 0)`
)

// findIndex returns the condition by which the list reads an index; "" reads all sessions by time.
func findIndex(q store.SessionQuery) string {
	switch {
	case q.Ancestor != "":
		return byAncestor
	case q.ParentID != nil && *q.ParentID != "":
		return byParent
	case q.Directory != "":
		return byDirectory
	case q.ProjectID != "":
		return byProject
	default:
		return ""
	}
}

// sessionList is the statement of a list: its text, and the values of its parameters. Equal filters have equal texts,
// so that their statement is prepared once.
type sessionList struct {
	sql  strings.Builder
	args []any // string or int64
}

// newSessionList returns a list with the filters of q. The condition index is the one by which it reads an index; a
// plus before the others keeps SQLite from choosing their indexes.
func newSessionList(q store.SessionQuery, index string) *sessionList {
	l := &sessionList{}
	l.sql.WriteString(sessionColumns + `1 = 1`)
	parent := session.ID("")
	if q.ParentID != nil {
		parent = *q.ParentID
	}
	for _, f := range []struct {
		isSet     bool
		condition string
		value     string
	}{
		{q.Ancestor != "", byAncestor, string(q.Ancestor)},
		{q.ParentID != nil, byParent, string(parent)},
		{q.Directory != "", byDirectory, q.Directory},
		{q.ProjectID != "", byProject, string(q.ProjectID)},
		{q.Subpath != "", belowPath, q.Subpath},
		{!q.Archived, notArchived, ""},
	} {
		switch {
		case f.isSet && f.condition == index:
			l.add(` AND `+f.condition, f.value)
		case f.isSet:
			l.add(` AND +`+f.condition, f.value)
		}
	}
	return l
}

// add adds text with one parameter, which it names ?, once or several times or not at all.
func (l *sessionList) add(text string, value any) {
	if strings.Contains(text, "?") {
		l.args = append(l.args, value)
		text = strings.ReplaceAll(text, "?", "?"+strconv.Itoa(len(l.args)))
	}
	l.sql.WriteString(text)
}

// addSearch adds the search for a title, if there is one.
func (l *sessionList) addSearch(search, condition string) {
	if search != "" {
		l.add(` AND `+condition, strings.ToLower(search))
	}
}

// addOrder adds the order by creation, the position after which the list starts, and the limit.
func (l *sessionList) addOrder(q store.SessionQuery) {
	after, compared, order := q.After, ` AND (time_created, id) < (?`, ` ORDER BY time_created DESC, id DESC LIMIT ? + 0`
	if q.Oldest {
		compared, order = ` AND (time_created, id) > (?`, ` ORDER BY time_created, id LIMIT ? + 0`
	}
	switch {
	case after != nil:
	case q.Oldest:
		after = &store.SessionAnchor{Created: math.MinInt64}
	default:
		after = &store.SessionAnchor{Created: math.MaxInt64}
	}
	l.add(compared, after.Created)
	l.add(`, ?)`, string(after.ID))
	limit := int64(q.Limit)
	if limit <= 0 {
		limit = math.MaxInt64
	}
	l.add(order, limit)
}

// prepareList prepares the statement of a list and binds its parameters.
func (r *Reader) prepareList(l *sessionList) stmtCall {
	c := r.prepare(l.sql.String())
	for _, arg := range l.args {
		switch v := arg.(type) {
		case int64:
			c.bindInt(v)
		case string:
			c.bindText(v)
		}
	}
	return c
}
