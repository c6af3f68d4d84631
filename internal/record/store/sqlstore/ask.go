package sqlstore

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const askColumns = `SELECT id, session_id, seq, crc, data FROM ask `

const getAsk = askColumns + `WHERE id = ?1`

const (
	asksOf  = askColumns + `WHERE session_id = ?1 AND (?2 = 0 OR pending = 1) ORDER BY seq, id`
	asksAll = askColumns + `WHERE ?1 = '' AND (?2 = 0 OR pending = 1) ORDER BY time, session_id, seq, id`
	pendAll = askColumns + `WHERE ?1 = '' AND ?2 = 1 AND pending = 1 ORDER BY time, session_id, seq, id`
)

// Asks implements store.AskReader.
func (r *Reader) Asks(q store.AskQuery) ([]*store.AskRow, error) {
	if q.ID != "" {
		c := r.prepare(getAsk)
		c.bindText(string(q.ID))
		return r.readAsks(&c, q.ID, false)
	}
	id := q.SessionID
	sql := asksOf
	switch {
	case id == "" && q.Pending:
		sql = pendAll
	case id == "":
		sql = asksAll
	}
	c := r.prepare(sql)
	c.bindText(string(id))
	c.bindBool(q.Pending)
	return r.readAsks(&c, id, id == "")
}

// readAsks reads rows of askColumns; lenient leaves out damaged rows.
func (r *Reader) readAsks(c *stmtCall, about any, lenient bool) ([]*store.AskRow, error) {
	out := []*store.AskRow{}
	for c.nextRow() {
		id, data := session.AskID(c.st.Text(0)), r.copyScratch(c, 4)
		if c.st.Int(3) != r.sumAsk(id, data) {
			if lenient {
				continue
			}
			c.err = newDamage(session.ID(c.st.Text(1)), c.st.Int(2), "ask "+string(id))
			break
		}
		a, err := decode[store.AskRow](data)
		if err != nil {
			c.err = err
			break
		}
		out = append(out, a)
	}
	if err := c.endCall("read asks of", about); err != nil {
		return nil, err
	}
	return out, nil
}

const upsertAsk = `INSERT INTO ask (id, session_id, seq, pending, time, crc, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
	ON CONFLICT (id) DO UPDATE SET seq = ?3, pending = ?4, time = ?5, crc = ?6, data = ?7 WHERE session_id = ?2`

// PutAsk implements store.AskWriter.
func (t *Tx) PutAsk(a *store.AskRow) error {
	data, err := encode(a)
	if err != nil {
		return fmt.Errorf("put ask %s: %w", a.ID, err)
	}
	c := t.prepare(upsertAsk)
	c.bindText(string(a.ID))
	c.bindText(string(a.SessionID))
	c.bindInt(a.Seq)
	c.bindBool(a.Reply == "")
	c.bindInt(a.Time)
	c.bindInt(t.sumAsk(a.ID, data))
	c.bindJSON(data)
	put, err := c.run("put ask", a.ID)
	if err == nil && !put {
		return session.Conflict("ask", string(a.ID), "is used by another session")
	}
	return err
}

const approvals = `SELECT id, project_id, action, resource, lifetime, holder, time, crc FROM approval
	WHERE ?1 = '' OR project_id = ?1 ORDER BY time, id`

// Approvals implements store.ApprovalReader.
func (r *Reader) Approvals(id session.RecordID) ([]store.Approval, error) {
	c := r.prepare(approvals)
	c.bindText(string(id))
	out := []store.Approval{}
	for c.nextRow() {
		a := store.Approval{
			ID: c.st.Text(0), RecordID: session.RecordID(c.st.Text(1)), Action: c.st.Text(2), Resource: c.st.Text(3),
			Lifetime: session.Lifetime(c.st.Text(4)), Holder: c.st.Text(5), Time: c.st.Int(6),
		}
		if c.st.Int(7) == r.sumApproval(&a) { // a damaged approval allows nothing
			out = append(out, a)
		}
	}
	if err := c.endCall("read approvals of", id); err != nil {
		return nil, err
	}
	return out, nil
}

const sameApproval = `SELECT project_id = ?1 AND action = ?2 AND resource = ?3 AND lifetime = ?4 AND holder = ?5
	FROM approval WHERE id = ?6 OR (project_id = ?1 AND action = ?2 AND resource = ?3 AND lifetime = ?4 AND holder = ?5)
	ORDER BY 1 DESC LIMIT 1`

const insertApproval = `INSERT INTO approval (project_id, action, resource, lifetime, holder, id, time, crc)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`

// PutApproval implements store.ApprovalWriter.
func (t *Tx) PutApproval(a store.Approval) error {
	c := t.prepare(sameApproval)
	c.bindApproval(&a)
	exists := c.nextRow()
	same := exists && c.st.Int(0) == 1
	if err := c.endCall("put approval", a.ID); err != nil || same {
		return err
	}
	if exists {
		return session.Conflict("approval", a.ID, "exists for something else")
	}
	c = t.prepare(insertApproval)
	c.bindApproval(&a)
	c.bindInt(a.Time)
	c.bindInt(t.sumApproval(&a))
	_, err := c.run("put approval", a.ID)
	return err
}

// bindApproval binds what makes approvals the same, and the id.
func (c *stmtCall) bindApproval(a *store.Approval) {
	for _, text := range []string{
		string(a.RecordID), a.Action, a.Resource, string(a.Lifetime), a.Holder, a.ID,
	} {
		c.bindText(text)
	}
}

const deleteApproval = `DELETE FROM approval WHERE id = ?1`

// DeleteApproval implements store.ApprovalWriter.
func (t *Tx) DeleteApproval(id string) (bool, error) {
	c := t.prepare(deleteApproval)
	c.bindText(id)
	return c.run("delete approval", id)
}
