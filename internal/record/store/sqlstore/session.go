package sqlstore

import (
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	sessionColumns = `SELECT id, crc, data, time_created, time_updated, recent, record_id FROM session WHERE `
	getSession     = sessionColumns + `id = ?1`
)

// Session implements store.SessionReader.
func (r *Reader) Session(id session.ID) (found *session.Session, ok bool, err error) {
	c := r.prepare(getSession)
	c.bindText(string(id))
	if c.nextRow() {
		if row, whole := r.readSession(&c); whole {
			found, c.err = row.Session()
		} else {
			c.err = newDamage(id, -1, "the session's row")
		}
	}
	if err = c.endCall("read session", id); err == nil && found == nil {
		err = r.checkMissing(id)
	}
	if err != nil {
		return nil, false, err
	}
	return found, found != nil, nil
}

const isListed = `SELECT 1 FROM session INDEXED BY session_by_time WHERE +id = ?1`

// checkMissing returns a *store.Damage if the index of ids does not have a session that another index has: its page is
// damaged. It scans the other index only for a session that has a number, so not for a new or deleted one.
func (r *Reader) checkMissing(id session.ID) error {
	return r.checkIndex(id, numberOf, isListed, "the index of ids does not have it")
}

// readSession reads a row of sessionColumns and reports whether its checksum matches. The data is valid until the
// next row, and nil if the checksum does not match.
func (r *Reader) readSession(c *stmtCall) (store.RawSession, bool) {
	row := store.RawSession{
		ID: session.ID(c.st.Text(0)), RecordID: session.RecordID(c.st.Text(6)), Created: c.st.Int(3), Updated: c.st.Int(4),
		Data: r.copyScratch(c, 2),
	}
	whole := c.st.Int(1) == r.sumSession(row.ID, row.Data)
	if !whole {
		row.Data = nil
	}
	return row, whole
}

const unfinished = `SELECT id FROM session WHERE unfinished = 1 ORDER BY time_updated, id LIMIT ?1 + 0`

// Unfinished implements store.SessionReader.
func (r *Reader) Unfinished(limit int) ([]session.ID, error) {
	c := r.prepare(unfinished)
	c.bindLimit(limit)
	out := []session.ID{}
	for c.nextRow() {
		out = append(out, session.ID(c.st.Text(0)))
	}
	return out, c.endCall("list", "unfinished sessions")
}

// An update that does not change indexed columns does not write pages of the indexes.
const updateSession = `UPDATE session SET time_updated = ?9, crc = ?10, data = ?11
	` + sameSession + ` AND title = ?8 AND recent = ` + endOfMinute

// A session that names no record that exists keeps the one that it has.
const sameSession = `WHERE id = ?1 AND project_id = ?2 AND parent_id = ?3 AND directory = ?4 AND subpath = ?5
	AND time_created = ?6 AND time_archived = ?7 AND (?12 = '' OR record_id = ?12 OR NOT ` + isRecord + `)
	AND tags = ?13 AND ephemeral = ?14`

const isRecord = `EXISTS (SELECT 1 FROM project WHERE project.id = ?12)`

// The first update of a minute, or one with another title, writes the pages of their indexes.
const updateMinute = `UPDATE session
	SET title = ?8, time_updated = ?9, crc = ?10, data = ?11, recent = ` + endOfMinute + `
	` + sameSession

const upsertSession = `INSERT INTO session (id, project_id, parent_id, directory, subpath, time_created, time_archived,
		title, time_updated, crc, data, recent, record_id, tags,
		ephemeral)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?9, CASE WHEN ` + isRecord + ` THEN ?12 ELSE '' END, ?13,
		?14)
	ON CONFLICT (id) DO UPDATE SET project_id = ?2, parent_id = ?3, directory = ?4, subpath = ?5, time_created = ?6,
		time_archived = ?7, title = ?8, time_updated = ?9, crc = ?10, data = ?11, tags = ?13,
		ephemeral = ?14,
		record_id = CASE WHEN ` + isRecord + ` THEN ?12 ELSE record_id END, recent = ` + endOfMinute

// PutSession implements store.SessionWriter. The record is stored in its column only, which changes without the session.
func (t *Tx) PutSession(s *session.Session) error {
	row := *s
	row.RecordID = ""
	data, err := encode(&row)
	if err != nil {
		return fmt.Errorf("put session %s: %w", s.ID, err)
	}
	for _, sql := range []string{updateSession, updateMinute} {
		if updated, err := t.putSession(sql, s, data); err != nil || updated {
			return err
		}
	}
	// A new session gets its number before it has a row: afterwards a missing number is a sign of damage, which a scan
	// must confirm.
	if _, err := t.ensureNumber(s.ID); err != nil {
		return err
	}
	_, err = t.putSession(upsertSession, s, data)
	return err
}

func (t *Tx) putSession(sql string, s *session.Session, data []byte) (bool, error) {
	c := t.prepare(sql)
	c.bindText(string(s.ID))
	c.bindText(string(s.ProjectID))
	c.bindText(string(s.ParentID))
	c.bindText(s.Location.Directory)
	c.bindText(s.Subpath)
	c.bindInt(s.Time.Created)
	c.bindInt(s.Time.Archived)
	c.bindText(strings.ToLower(s.Title))
	c.bindInt(s.Time.Updated)
	c.bindInt(t.sumSession(s.ID, data))
	c.bindJSON(data)
	c.bindText(string(s.RecordID))
	c.bindText(joinTags(s.Tags))
	c.bindBool(s.Ephemeral)
	return c.run("put session", s.ID)
}

// joinTags returns the value of the column tags: a comma before and after each tag.
func joinTags(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return "," + strings.Join(tags, ",") + ","
}

const setUnfinished = `UPDATE session SET unfinished = ?2 WHERE id = ?1 AND unfinished <> ?2`

// SetUnfinished implements store.SessionWriter.
func (t *Tx) SetUnfinished(id session.ID, unfinished bool) error {
	c := t.prepare(setUnfinished)
	c.bindText(string(id))
	c.bindBool(unfinished)
	_, err := c.run("mark session", id)
	return err
}

const keepPosition = `UPDATE meta SET value = (SELECT max(position) FROM event)
	WHERE key = 'position' AND CAST(value AS INTEGER) < (SELECT max(position) FROM event)`

// DeleteSession implements store.SessionWriter.
func (t *Tx) DeleteSession(id session.ID) error {
	// Positions are never used again: keep the newest one if it goes with the session.
	c := t.prepare(keepPosition)
	if _, err := c.run("delete session", id); err != nil {
		return err
	}
	t.inserted = eventLocation{}
	// Rows by the session's number, then those by its id.
	for _, sql := range []string{
		`DELETE FROM event WHERE session = ?1`,
		`DELETE FROM message WHERE ` + ofSession,
		`DELETE FROM input WHERE session = ?1`,
		`DELETE FROM epoch WHERE session = ?1`,
	} {
		c := t.prepareFor(sql, id)
		if _, err := c.run("delete session", id); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		`DELETE FROM ask WHERE session_id = ?1`,
		`DELETE FROM approval WHERE holder = ?1`,
		`DELETE FROM session WHERE id = ?1`,
	} {
		c := t.prepare(sql)
		c.bindText(string(id))
		if _, err := c.run("delete session", id); err != nil {
			return err
		}
	}
	t.deletes = true
	// No row refers to the number any more.
	return t.releaseNumber(id)
}
