// Package sqlstore is the SQL of a store: one statement per operation, and for lists of sessions one per set of filters, over the small interface Conn. A driver
// brings the connection, the schema and the transactions.
//
// Statements number their parameters ?1, ?2, …, and each use binds all of them. JSON is stored as text, byte for
// byte. Every row with data has a CRC32C over its key and its bytes, verified on each read: a mismatch is a
// *store.Damage, and other sessions stay usable.
//
// Expected tables, with the columns that matter:
//
//	numbered(number, session_id)
//	event(position, id, session_id, session, seq, kind, version, crc, data, private)
//	session(id, project_id, parent_id, directory, subpath, title, time_created, time_updated, time_archived,
//	        unfinished, recent, record_id, crc, data)
//	message(place, id, type, call_id, through, crc, data)
//	input(id, session, delivery, admitted_seq, promoted_seq, rank, crc, data)
//	epoch(session, baseline, baseline_seq, snapshot, revision, crc)
//	ask(id, session_id, seq, pending, time, crc, data)
//	approval(id, project_id, action, resource, lifetime, holder, time, crc)
//	spend(place, time, crc, data)
//	project(id, common, path, file, root, created, crc, data)
//	meta(key, value)
//
// Column session is the session's number; place combines that number with a seq (see number.go). title is in lower
// case, for searches. record_id is the record that the session names, if it exists, or the one that adopted it; project_id of an
// approval is that of a record. recent orders lists of recently changed sessions (see recent.go). through is the seq after
// which checkpoints belong to a streaming turn, 0 for other messages (store.CheckpointSeq). The meta value
// "position" is the highest position that a deletion may have freed, so that no position is used twice.
package sqlstore

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Conn is a connection within one transaction. Errors of it and of its statements are ErrUnavailable if the
// database cannot do what it is asked (disk full, damaged, …), and any other error if the statement is refused.
type Conn interface {
	// Prepare returns the statement of the text, ready to be bound. The same text returns the same statement, which
	// must have been reset.
	Prepare(sql string) (Stmt, error)
}

// Stmt is a statement of a Conn, used in this order: bind, step, reset. Parameters count from 1, columns from 0.
type Stmt interface {
	BindInt(i int, v int64)
	BindText(i int, v string)
	BindJSON(i int, v []byte) // nil is NULL
	// Step moves to the next row; false means the end.
	Step() (bool, error)
	Int(col int) int64 // NULL is 0
	Text(col int) string
	Len(col int) int               // bytes of a text
	Bytes(col int, buf []byte) int // copies a text into buf, which has its length
	CountChanges() int64           // rows that the statement inserted, updated or deleted
	Reset() error
}

// Reader implements store.Reader. It belongs to one transaction and is not safe for concurrent use.
type Reader struct {
	conn  Conn
	last  sessionNumber
	key   []byte     // scratch: the canonical key of a row
	data  []byte     // scratch: the data of a row that is decoded at once
	types stringPool // of messages
}

// Tx implements store.Tx.
type Tx struct {
	Reader
	inserted eventLocation // of the event that the transaction inserted last; zero if it deleted events since
	deletes  bool
}

var (
	_ store.Reader = (*Reader)(nil)
	_ store.Tx     = (*Tx)(nil)
)

// NewReader returns a reader on c.
func NewReader(c Conn) *Reader { return &Reader{conn: c} }

// NewTx returns a transaction on c.
func NewTx(c Conn) *Tx { return &Tx{Reader: Reader{conn: c}} }

// NewestPosition returns the position of the event that the transaction inserted last, 0 without one.
func (t *Tx) NewestPosition() int64 { return t.inserted.position }

// DeletesSession reports whether the transaction deleted a session.
func (t *Tx) DeletesSession() bool { return t.deletes }

// End makes every later use an error, so that a function that kept the transaction cannot use it.
func (r *Reader) End() { r.conn = closedConn{} }

type closedConn struct{}

func (closedConn) Prepare(string) (Stmt, error) { return nil, errors.New("the transaction has ended") }

// stmtCall is one use of a statement: bind, nextRow (or run), endCall.
type stmtCall struct {
	st  Stmt
	n   int
	err error
}

func (r *Reader) prepare(sql string) stmtCall {
	st, err := r.conn.Prepare(sql)
	return stmtCall{st: st, err: err}
}

func (c *stmtCall) bindInt(v int64) {
	c.n++
	if c.err == nil {
		c.st.BindInt(c.n, v)
	}
}

func (c *stmtCall) bindText(v string) {
	c.n++
	if c.err == nil {
		c.st.BindText(c.n, v)
	}
}

func (c *stmtCall) bindJSON(v []byte) {
	c.n++
	if c.err == nil {
		c.st.BindJSON(c.n, v)
	}
}

func (c *stmtCall) bindBool(v bool) {
	if v {
		c.bindInt(1)
	} else {
		c.bindInt(0)
	}
}

// bindLimit binds a limit; 0 means no limit. Statements say "LIMIT ?n + 0", because SQLite plans a statement with a
// bare parameter again whenever its value changes, which costs a tenth of the CPU of a turn.
func (c *stmtCall) bindLimit(n int) {
	if n <= 0 {
		c.bindInt(math.MaxInt64)
	} else {
		c.bindInt(int64(n))
	}
}

func (c *stmtCall) nextRow() bool {
	if c.err != nil {
		return false
	}
	var row bool
	row, c.err = c.st.Step()
	return row && c.err == nil
}

// endCall resets the statement and returns its error with the operation.
func (c *stmtCall) endCall(doing string, about any) error {
	if c.st != nil {
		if err := c.st.Reset(); c.err == nil {
			c.err = err
		}
	}
	if c.err != nil {
		return fmt.Errorf("%s %v: %w", doing, about, c.err)
	}
	return nil
}

// run executes a statement that returns no rows and reports whether it changed a row. RETURNING, which could tell that
// too, copies rows to a temporary table.
func (c *stmtCall) run(doing string, about any) (bool, error) {
	c.nextRow()
	changed := c.err == nil && c.st.CountChanges() > 0
	return changed, c.endCall(doing, about)
}

// copyBytes copies a column; the result is nil for an empty text and for NULL.
func (c *stmtCall) copyBytes(col int) []byte {
	n := c.st.Len(col)
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	c.st.Bytes(col, b)
	return b
}

// copyScratch copies a column into r's memory, which is valid until the next call.
func (r *Reader) copyScratch(c *stmtCall, col int) []byte {
	n := c.st.Len(col)
	if cap(r.data) < n {
		r.data = make([]byte, n, n+n/2)
	}
	r.data = r.data[:n]
	c.st.Bytes(col, r.data)
	return r.data
}

func encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// decode decodes data with a valid checksum into a new T.
func decode[T any](data []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("decode stored %T: %w", *v, err)
	}
	return v, nil
}

func newDamage(id session.ID, seq int64, what string) error {
	return &store.Damage{SessionID: id, Seq: seq, Detail: what + " does not match its checksum"}
}
