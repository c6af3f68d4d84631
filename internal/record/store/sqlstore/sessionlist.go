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
	if q.RecordID == "" {
		q.Within = ""
	}
	areFew, err := r.hasFewWithin(q.Within)
	if err != nil {
		return nil, err
	}
	c := r.prepareList(newOrderedList(q, areFew))
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

// maxCollected bounds the sessions below a directory that a list collects and sorts. With more of them a page is found
// soon in the order of creation, where the directory is tested row by row.
const maxCollected = 1000

// hasFewWithin reports whether fewer than maxCollected sessions are of the directory and below.
func (r *Reader) hasFewWithin(dir string) (bool, error) {
	if dir == "" {
		return false, nil
	}
	l := &sessionList{}
	l.add(`SELECT 1 FROM session WHERE `+within, belowDirectory(dir))
	l.add(` LIMIT ?`, int64(maxCollected))
	c := r.prepareList(l)
	found := 0
	for c.nextRow() {
		found++
	}
	return found < maxCollected, c.endCall("count", "sessions")
}

// belowDirectory returns the parameter of within for a directory: "" for the root, whose paths begin with its /.
func belowDirectory(dir string) string { return strings.TrimSuffix(dir, "/") }

// newOrderedList returns the list in the order of creation. With Within it merges the sessions of the record and those
// of "global", each in the order of its index; if areFew is set, those of "global" are collected by their directory.
func newOrderedList(q store.SessionQuery, areFew bool) *sessionList {
	own := q
	own.Within = ""
	l := &sessionList{}
	l.addSelect(own, areFew)
	if q.Within != "" {
		record := q.RecordID
		q.ProjectID, q.RecordID = outside, ""
		l.sql.WriteString(` UNION ALL `)
		l.addSelect(q, areFew)
		l.add(notOfRepository, string(record))
	}
	l.addLimit(q)
	return l
}

// notOfRepository leaves out the sessions of the list's own record, and of those of other repositories.
const notOfRepository = ` AND record_id <> ? AND NOT EXISTS (
	SELECT 1 FROM project WHERE project.id = record_id AND common <> '')`

// outside is the project of sessions outside of repositories, and of those that began before the first commit.
const outside = "global"

// addSelect adds the selection of an ordered list. With areFew the index of the directory leads to the sessions within.
func (l *sessionList) addSelect(q store.SessionQuery, areFew bool) {
	if areFew && q.Within != "" {
		l.addFilters(q, collectedWithin)
	} else {
		l.addFilters(q, findIndex(q))
	}
	l.addSearch(q.Search, amongTitled)
	l.addAnchor(q)
}

// Conditions by which a list can read an index; ? is the parameter.
const (
	byProject   = `project_id = ?`
	byRecord    = `record_id = ?`
	byDirectory = `directory = ?`
	byParent    = `parent_id = ?`
	byAncestor  = `id IN (WITH RECURSIVE below (id) AS (SELECT id FROM session WHERE parent_id = ?
		UNION SELECT s.id FROM below JOIN session s ON s.parent_id = below.id) SELECT id FROM below)`
)

// byEphemeral finds the ephemeral sessions, which are few. What it finds is sorted.
const byEphemeral = `rowid IN (SELECT rowid FROM session WHERE ephemeral = 1)`

// collectedWithin is within as a condition by which a list reads an index. What it finds is sorted.
const collectedWithin = `rowid IN (SELECT rowid FROM session WHERE ` + within + `)`

// Conditions that are tested row by row. They read columns only: one that reads the JSON of a row fails the whole list
// where a row is damaged. A search tests the title in an index before it reads the row: in the list's own index
// (titled), or in one that first collects the matching rows. The index by project has the directory for within.
const (
	belowPath = `(subpath = ? OR (subpath >= ? || '/' AND subpath < ? || '0')
		OR (subpath = '' AND project_id IN ('', 'global')
		AND (directory = '/' || ? OR (directory >= '/' || ? || '/' AND directory < '/' || ? || '0'))))`
	within      = `(directory = ? OR (directory >= ? || '/' AND directory < ? || '0'))`
	notArchived = `time_archived = 0`
	titled      = `instr(title, ?) > 0`
	amongTagged = `+rowid IN (SELECT rowid FROM session WHERE tags <> '' AND instr(tags, ',' || ? || ',') > 0)`
	amongTitled = `+rowid IN (SELECT rowid FROM session WHERE instr(title, ?) > 0)`
)

// findIndex returns the condition by which the list reads an index; "" reads all sessions by time.
func findIndex(q store.SessionQuery) string {
	switch {
	case q.Ephemeral:
		return byEphemeral
	case q.Ancestor != "":
		return byAncestor
	case q.ParentID != nil && *q.ParentID != "":
		return byParent
	case q.Directory != "":
		return byDirectory
	case q.RecordID != "":
		return byRecord
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

// newSessionList returns a list with the filters of q.
func newSessionList(q store.SessionQuery, index string) *sessionList {
	l := &sessionList{}
	l.addFilters(q, index)
	return l
}

// addFilters adds the selection with the filters of q. The condition index is the one by which it reads an index; a
// plus before the others keeps SQLite from choosing their indexes.
func (l *sessionList) addFilters(q store.SessionQuery, index string) {
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
		{q.Ephemeral, byEphemeral, ""},
		{q.Ancestor != "", byAncestor, string(q.Ancestor)},
		{q.ParentID != nil, byParent, string(parent)},
		{q.Directory != "", byDirectory, q.Directory},
		{q.ProjectID != "", byProject, string(q.ProjectID)},
		{q.RecordID != "", byRecord, string(q.RecordID)},
		{q.Within != "" && index != collectedWithin, within, belowDirectory(q.Within)},
		{q.Within != "" && index == collectedWithin, collectedWithin, belowDirectory(q.Within)},
		{q.Subpath != "", belowPath, q.Subpath},
		{!q.Archived, notArchived, ""},
	} {
		switch {
		case f.isSet && f.condition == byDirectory && q.Moved != nil:
			l.addDirectories(q)
		case f.isSet && f.condition == index:
			l.add(` AND `+f.condition, f.value)
		case f.isSet:
			l.add(` AND +`+f.condition, f.value)
		}
	}
	l.addTags(q.Tag)
}

// addTags adds a condition for each tag of a list that is separated by commas.
func (l *sessionList) addTags(tags string) {
	if tags == "" {
		return
	}
	for tag := range strings.SplitSeq(tags, ",") {
		l.add(` AND `+amongTagged, tag)
	}
}

// addDirectories adds the condition for the directory of q and those that q.Moved names. It reads the index by directory.
func (l *sessionList) addDirectories(q store.SessionQuery) {
	l.add(` AND directory IN (?`, q.Directory)
	for _, dir := range q.Moved.Directories {
		l.add(`, ?`, dir)
	}
	l.add(`) AND (+directory = ?`, q.Directory)
	l.add(` OR +record_id = ?)`, string(q.Moved.RecordID))
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

// addAnchor adds the position after which the list starts.
func (l *sessionList) addAnchor(q store.SessionQuery) {
	after, compared := q.After, ` AND (time_created, id) < (?`
	if q.Oldest {
		compared = ` AND (time_created, id) > (?`
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
}

// addLimit adds the order by creation and the limit.
func (l *sessionList) addLimit(q store.SessionQuery) {
	order := ` ORDER BY time_created DESC, id DESC LIMIT ? + 0`
	if q.Oldest {
		order = ` ORDER BY time_created, id LIMIT ? + 0`
	}
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
