package sqlite

import (
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/cairn-dev/cairn/internal/record/store/sqlstore"
)

// otherConn is a dbConn of another build of the same SQLite, whose files can be simulated.
type otherConn struct {
	c       *sqlite3.Conn
	stmts   map[string]*otherStmt
	written int64
}

func openOther(uri string) (*otherConn, error) {
	c, err := sqlite3.Open(uri)
	if err != nil {
		return nil, otherError(err)
	}
	return &otherConn{c: c, stmts: map[string]*otherStmt{}}, nil
}

func otherError(err error) error {
	if code, ok := errors.AsType[sqlite3.ExtendedErrorCode](err); ok {
		return classifyCode(int(code), err)
	}
	if code, ok := errors.AsType[sqlite3.ErrorCode](err); ok {
		return classifyCode(int(code), err)
	}
	return err
}

func (o *otherConn) Prepare(sql string) (sqlstore.Stmt, error) {
	if st := o.stmts[sql]; st != nil {
		return st, nil
	}
	s, _, err := o.c.Prepare(sql)
	if err != nil {
		return nil, otherError(err)
	}
	st := &otherStmt{s, o}
	o.stmts[sql] = st
	return st, nil
}

func (o *otherConn) Exec(sql string) error     { return otherError(o.c.Exec(strings.TrimSpace(sql))) }
func (o *otherConn) InTransaction() bool       { return !o.c.GetAutocommit() }
func (o *otherConn) Interrupt(<-chan struct{}) {}
func (o *otherConn) BytesBound() int64         { return o.written }

func (o *otherConn) Close() error {
	for _, st := range o.stmts {
		_ = st.s.Close()
	}
	return otherError(o.c.Close())
}

type otherStmt struct {
	s *sqlite3.Stmt
	o *otherConn
}

func (st *otherStmt) BindInt(i int, v int64)   { _ = st.s.BindInt64(i, v) }
func (st *otherStmt) BindText(i int, v string) { _ = st.s.BindText(i, v) }

func (st *otherStmt) BindJSON(i int, v []byte) {
	if v == nil {
		_ = st.s.BindNull(i)
		return
	}
	st.o.written += int64(len(v))
	_ = st.s.BindRawText(i, v)
}

func (st *otherStmt) Step() (bool, error) {
	if st.s.Step() {
		return true, nil
	}
	return false, otherError(st.s.Err())
}

func (st *otherStmt) Int(col int) int64             { return st.s.ColumnInt64(col) }
func (st *otherStmt) Text(col int) string           { return st.s.ColumnText(col) }
func (st *otherStmt) Len(col int) int               { return len(st.s.ColumnRawText(col)) }
func (st *otherStmt) Bytes(col int, buf []byte) int { return copy(buf, st.s.ColumnRawText(col)) }

func (st *otherStmt) CountChanges() int64 { return st.o.c.Changes() }

func (st *otherStmt) Reset() error {
	_ = st.s.Reset()
	return nil
}
