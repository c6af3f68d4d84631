package sqlstore

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/session"
)

// A session has a number, given when something is first stored of it; numbers of later sessions are higher. Rows that
// belong to a seq of their session are keyed by their place: the number above the lower 32 bits, the seq in them. The
// rows of a session stand together and in order, without an index.
//
// What a session cost outlives it, and so does its number then.

// seqs is how many seqs a session can have.
const seqs = 1 << 32

// sessionNumber is a session and its number.
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
	return n, c.endCall("find number of", id)
}

const sessionOfNumber = `SELECT session_id FROM numbered WHERE number = ?1`

// findSession returns the session with the number, "" if no session has it.
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

// ensureNumber returns the session's number, which it is given if it has none.
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

const forgetNumber = `DELETE FROM numbered WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM spend WHERE ` + ofSession + `)`

// releaseNumber takes the number from a session of which nothing is stored but, perhaps, what it cost.
func (t *Tx) releaseNumber(id session.ID) error {
	c := t.prepareFor(forgetNumber, id)
	t.last = sessionNumber{}
	_, err := c.run("forget number of", id)
	return err
}

// prepareFor is a use of the statement whose first parameter is the session's number, 0 if there is nothing of it.
func (r *Reader) prepareFor(sql string, id session.ID) stmtCall {
	n, err := r.findNumber(id)
	return r.prepareNumber(sql, n, err)
}

// prepareInsert is prepareFor for what stores something of the session.
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

// bindSeq binds a bound of seqs: one that no seq can reach is the nearest that none can.
func (c *stmtCall) bindSeq(v int64) { c.bindInt(min(max(v, -1), seqs)) }

// bindPlace binds the seq of a row.
func (c *stmtCall) bindPlace(seq int64) {
	if c.err == nil && (seq < 0 || seq >= seqs) {
		c.err = fmt.Errorf("seq %d has no place", seq)
	}
	c.bindInt(seq)
}
