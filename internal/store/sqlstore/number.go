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

// numbered is a session and its number.
type numbered struct {
	id     session.ID
	number int64
}

const numberOf = `SELECT number FROM numbered WHERE session_id = ?1`

// number returns the session's number, 0 if it has none.
func (r *Reader) number(id session.ID) (int64, error) {
	if id == r.last.id {
		return r.last.number, nil
	}
	c := r.call(numberOf)
	c.text(string(id))
	n := int64(0)
	if c.next() {
		n = c.st.Int(0)
	}
	if n > 0 {
		r.last = numbered{id, n}
	}
	return n, c.end("find number of", id)
}

const sessionOfNumber = `SELECT session_id FROM numbered WHERE number = ?1`

// sessionOf returns the session with the number, "" if no session has it.
func (r *Reader) sessionOf(number int64) (session.ID, error) {
	if number == r.last.number && number > 0 {
		return r.last.id, nil
	}
	c := r.call(sessionOfNumber)
	c.int(number)
	var id session.ID
	if c.next() {
		id = session.ID(c.st.Text(0))
	}
	return id, c.end("find session of number", number)
}

const giveNumber = `INSERT INTO numbered (session_id) VALUES (?1) RETURNING number`

// numbered returns the session's number, which it is given if it has none.
func (t *Tx) numbered(id session.ID) (int64, error) {
	n, err := t.number(id)
	if err != nil || n > 0 {
		return n, err
	}
	c := t.call(giveNumber)
	c.text(string(id))
	if c.next() {
		n = c.st.Int(0)
	}
	t.last = numbered{id, n}
	return n, c.end("number", id)
}

const forgetNumber = `DELETE FROM numbered WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM spend WHERE ` + ofSession + `)`

// forget takes the number from a session of which nothing is stored but, perhaps, what it cost.
func (t *Tx) forget(id session.ID) error {
	c := t.callOf(forgetNumber, id)
	t.last = numbered{}
	_, err := c.run("forget number of", id)
	return err
}

// callOf is a use of the statement whose first parameter is the session's number, 0 if there is nothing of it.
func (r *Reader) callOf(sql string, id session.ID) call {
	n, err := r.number(id)
	return r.callNumber(sql, n, err)
}

// callFor is callOf for what stores something of the session.
func (t *Tx) callFor(sql string, id session.ID) call {
	n, err := t.numbered(id)
	return t.callNumber(sql, n, err)
}

func (r *Reader) callNumber(sql string, n int64, err error) call {
	if err != nil {
		return call{err: err}
	}
	c := r.call(sql)
	c.int(n)
	return c
}

// seq binds a bound of seqs: one that no seq can reach is the nearest that none can.
func (c *call) seq(v int64) { c.int(min(max(v, -1), seqs)) }

// place binds the seq of a row.
func (c *call) place(seq int64) {
	if c.err == nil && (seq < 0 || seq >= seqs) {
		c.err = fmt.Errorf("seq %d has no place", seq)
	}
	c.int(seq)
}
