package sqlstore

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Every session has a number, assigned when its first row is stored; later sessions have higher numbers. Rows that
// belong to a seq of their session have a place as their key: the number in the upper bits, the seq in the lower
// 32. So a session's rows are adjacent and in order without an index.
//
// The spend of a session outlives it, and then its number does too.

// seqs is the number of seqs that a session can have.
const seqs = 1 << 32

// sessionNumber is a session with its number.
type sessionNumber struct {
	id     session.ID
	number int64
}

const numberOf = `SELECT number FROM numbered WHERE session_id = ?1`

// findNumber returns the session's number, 0 if it has none.
func (r *Reader) findNumber(id session.ID) (int64, error) {
	if id == r.last.id {
		return r.last.number, nil
	}
	c := r.prepare(numberOf)
	c.bindText(string(id))
	n := int64(0)
	if c.nextRow() {
		n = c.st.Int(0)
	}
	if n > 0 {
		r.last = sessionNumber{id, n}
	}
	if err := c.endCall("find number of", id); err != nil || n > 0 {
		return n, err
	}
	return 0, r.checkUnnumbered(id)
}

const (
	hasRow     = `SELECT 1 FROM session WHERE id = ?1`
	lostNumber = `SELECT 1 FROM numbered NOT INDEXED WHERE session_id = ?1`
)

// checkUnnumbered returns a *store.Damage if only the index of numbers does not have the session: its page is damaged.
// It scans the table only for a session that has a row, which has a number.
func (r *Reader) checkUnnumbered(id session.ID) error {
	return r.checkIndex(id, hasRow, lostNumber, "the index of numbers does not have it")
}

// checkIndex returns a *store.Damage if both statements find the session; the second one scans a table, and runs only
// if the first one does. In one statement, SQLite evaluates a condition that depends on no row first.
func (r *Reader) checkIndex(id session.ID, known, scan, detail string) error {
	for _, sql := range []string{known, scan} {
		c := r.prepare(sql)
		c.bindText(string(id))
		found := c.nextRow()
		if err := c.endCall("find session", id); err != nil || !found {
			return err
		}
	}
	return &store.Damage{SessionID: id, Seq: -1, Detail: detail}
}

const sessionOfNumber = `SELECT session_id FROM numbered WHERE number = ?1`

// findSession returns the session with the number, "" if it does not exist.
func (r *Reader) findSession(number int64) (session.ID, error) {
	if number == r.last.number && number > 0 {
		return r.last.id, nil
	}
	c := r.prepare(sessionOfNumber)
	c.bindInt(number)
	var id session.ID
	if c.nextRow() {
		id = session.ID(c.st.Text(0))
	}
	return id, c.endCall("find session of number", number)
}

const giveNumber = `INSERT INTO numbered (session_id) VALUES (?1) RETURNING number`

// ensureNumber returns the session's number and assigns one if necessary.
func (t *Tx) ensureNumber(id session.ID) (int64, error) {
	n, err := t.findNumber(id)
	if err != nil || n > 0 {
		return n, err
	}
	c := t.prepare(giveNumber)
	c.bindText(string(id))
	if c.nextRow() {
		n = c.st.Int(0)
	}
	t.last = sessionNumber{id, n}
	return n, c.endCall("number", id)
}

const forgetNumber = `DELETE FROM numbered
	WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM spend WHERE ` + ofSession + `)`

// releaseNumber removes the number of a session without rows, unless it has spend.
func (t *Tx) releaseNumber(id session.ID) error {
	c := t.prepareFor(forgetNumber, id)
	t.last = sessionNumber{}
	_, err := c.run("forget number of", id)
	return err
}

// prepareFor prepares a statement whose first parameter is the session's number, 0 if it has none.
func (r *Reader) prepareFor(sql string, id session.ID) stmtCall {
	n, err := r.findNumber(id)
	return r.prepareNumber(sql, n, err)
}

// prepareInsert is prepareFor for statements that store a row of the session: it assigns a number if necessary.
func (t *Tx) prepareInsert(sql string, id session.ID) stmtCall {
	n, err := t.ensureNumber(id)
	return t.prepareNumber(sql, n, err)
}

func (r *Reader) prepareNumber(sql string, n int64, err error) stmtCall {
	if err != nil {
		return stmtCall{err: err}
	}
	c := r.prepare(sql)
	c.bindInt(n)
	return c
}

// bindSeq binds a bound of seqs, clamped to the range of seqs.
func (c *stmtCall) bindSeq(v int64) { c.bindInt(min(max(v, -1), seqs)) }

// bindPlace binds the seq of a row.
func (c *stmtCall) bindPlace(seq int64) {
	if c.err == nil && (seq < 0 || seq >= seqs) {
		c.err = fmt.Errorf("seq %d is out of range", seq)
	}
	c.bindInt(seq)
}
