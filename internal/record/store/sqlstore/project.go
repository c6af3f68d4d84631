package sqlstore

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	projectColumns = `SELECT id, crc, data FROM project `
	allProjects    = projectColumns + `WHERE ?1 = '' AND ?2 = '' AND ?3 = '' AND ?4 = '' ORDER BY created, id LIMIT ?5 + 0`
	someProjects   = projectColumns + `WHERE rowid IN (
		SELECT rowid FROM project WHERE id = ?1
		UNION ALL SELECT rowid FROM project WHERE common = ?2 AND common <> ''
		UNION ALL SELECT rowid FROM project WHERE path = ?3
		UNION ALL SELECT rowid FROM project WHERE file = ?4 AND file <> '')
		ORDER BY created, id LIMIT ?5 + 0`
)

// Projects implements store.ProjectReader.
func (r *Reader) Projects(q store.ProjectQuery) ([]store.Project, error) {
	sql := someProjects
	if q == (store.ProjectQuery{}) {
		sql = allProjects
	}
	c := r.prepare(sql)
	for _, value := range []string{string(q.ID), q.Common, q.Path, q.File} {
		c.bindText(value)
	}
	c.bindLimit(store.MaxProjects)
	out := []store.Project{}
	for c.nextRow() {
		id, data := session.RecordID(c.st.Text(0)), r.copyScratch(&c, 2)
		if c.st.Int(1) != r.sumProject(id, data) {
			continue // it is made again when its directory is opened
		}
		p, err := decode[store.Project](data)
		if err != nil {
			continue
		}
		out = append(out, *p)
	}
	if err := c.endCall("read", "projects"); err != nil {
		return nil, err
	}
	return out, nil
}

// Sessions elsewhere are those without a record, and those of other records.
const countElsewhere = `SELECT count(*) FROM (
	SELECT 1 FROM session INDEXED BY session_without_record WHERE record_id = '' AND project_id IN (?2, ?3)
		AND project_id NOT IN ('', 'global') AND parent_id = '' AND time_archived = 0
	UNION ALL SELECT 1 FROM project p CROSS JOIN session s ON s.record_id = p.id
		WHERE p.id IN (SELECT id FROM project WHERE root = ?3 AND root <> '' UNION ALL SELECT id FROM project WHERE path = ?4)
		AND p.id <> ?1 AND +s.parent_id = '' AND +s.time_archived = 0
	LIMIT ?5 + 0)`

// CountElsewhere implements store.ProjectReader.
func (r *Reader) CountElsewhere(p store.Project) (n int, err error) {
	c := r.prepare(countElsewhere)
	c.bindText(string(p.ID))
	c.bindText(string(p.ProjectID))
	c.bindText(p.Root)
	c.bindText(p.Path)
	c.bindLimit(store.MaxElsewhere)
	if c.nextRow() {
		n = int(c.st.Int(0))
	}
	return n, c.endCall("count sessions beside", p.ID)
}

const upsertProject = `INSERT INTO project (id, common, path, file, root, created, crc, data)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
	ON CONFLICT (id) DO UPDATE SET common = ?2, path = ?3, file = ?4, root = ?5, created = ?6, crc = ?7, data = ?8`

// PutProject implements store.ProjectWriter.
func (t *Tx) PutProject(p store.Project) error {
	data, err := encode(p)
	if err != nil {
		return fmt.Errorf("put project %s: %w", p.ID, err)
	}
	c := t.prepare(upsertProject)
	for _, value := range []string{string(p.ID), p.Common, p.Path, p.File, p.Root} {
		c.bindText(value)
	}
	c.bindInt(p.Created)
	c.bindInt(t.sumProject(p.ID, data))
	c.bindJSON(data)
	_, err = c.run("put project", p.ID)
	return err
}

// DeleteProject implements store.ProjectWriter.
func (t *Tx) DeleteProject(id, heir session.RecordID) (existed bool, err error) {
	c := t.prepare(`UPDATE session SET record_id = ?2 WHERE record_id = ?1`)
	c.bindText(string(id))
	c.bindText(string(heir))
	if _, err := c.run("delete project", id); err != nil {
		return false, err
	}
	for _, sql := range []string{`DELETE FROM approval WHERE project_id = ?1`, `DELETE FROM project WHERE id = ?1`} {
		c := t.prepare(sql)
		c.bindText(string(id))
		if existed, err = c.run("delete project", id); err != nil {
			return false, err
		}
	}
	return existed, nil
}

const adoptSessions = `UPDATE session SET record_id = ?1 WHERE rowid IN (
	SELECT rowid FROM session WHERE record_id = '' AND project_id IN (?2, ?3, 'global') AND (directory IN (?4, ?4 || '/')
		OR (?5 = 1 AND directory >= ?4 || '/' AND directory < ?4 || '0')))`

// AdoptSessions implements store.ProjectWriter.
func (t *Tx) AdoptSessions(p store.Project, dir string) error {
	c := t.prepare(adoptSessions)
	c.bindText(string(p.ID))
	c.bindText(string(p.ProjectID))
	c.bindText(p.Root)
	c.bindText(belowDirectory(dir))
	c.bindBool(p.Common != "" || p.Root != "")
	_, err := c.run("adopt sessions of", p.ID)
	return err
}
