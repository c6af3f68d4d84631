package sqlite

import (
	"strings"
	"time"
	"unsafe"

	zs "zombiezen.com/go/sqlite"

	"github.com/cairn-dev/cairn/internal/fileuri"
	"github.com/cairn-dev/cairn/internal/record/store/sqlstore"
)

// dbConn is one connection to an SQLite database. It is used by one goroutine at a time.
type dbConn interface {
	sqlstore.Conn
	// Exec runs statements and ignores their rows.
	Exec(sql string) error
	// InTransaction reports whether a transaction is open; SQLite ends transactions by itself on some failures.
	InTransaction() bool
	// Interrupt makes statements fail once done is closed; nil removes the interrupt.
	Interrupt(done <-chan struct{})
	// BytesBound returns the bytes of JSON bound so far.
	BytesBound() int64
	Close() error
}

// accessMode is the purpose of a connection.
type accessMode int

const (
	forWriting    accessMode = iota
	forReading               // of a database that may be written meanwhile
	forReadingRaw            // of files that are not written and must not be touched; ignores the write-ahead log
)

// The names of a database and of its write-ahead log.
const (
	dbName    = "cairn.db"
	logSuffix = "-wal"
)

const busyTimeout = 5 * time.Second

// conn is a dbConn of zombiezen.com/go/sqlite.
type conn struct {
	c       *zs.Conn
	stmts   map[string]*stmt
	written int64
}

// openConn opens the database file, which must exist. No part of its path may be a symbolic link.
func openConn(path string, a accessMode) (dbConn, error) {
	const noFollow zs.OpenFlags = 0x01000000 // SQLITE_OPEN_NOFOLLOW
	flags := zs.OpenReadWrite | noFollow
	switch a {
	case forReading:
		flags = zs.OpenReadOnly | noFollow
	case forReadingRaw:
		flags = zs.OpenReadOnly | zs.OpenURI
		path = fileuri.Format(path) + "?immutable=1"
	}
	c, err := zs.OpenConn(path, flags)
	if err != nil {
		return nil, classifyError(err)
	}
	// Not c.SetDefensive: it passes SQLite one argument where it reads two, and SQLite then writes through an
	// undefined pointer (zombiezen.com/go/sqlite v1.4.2, sqlite3_db_config). trusted_schema and the checks of
	// commonPragmas guard against a malicious database.
	c.SetBusyTimeout(busyTimeout)
	return &conn{c: c, stmts: map[string]*stmt{}}, nil
}

func (z *conn) Prepare(sql string) (sqlstore.Stmt, error) {
	if st := z.stmts[sql]; st != nil {
		return st, nil
	}
	s, err := z.c.Prepare(sql)
	if err != nil {
		return nil, classifyPrepareError(err)
	}
	st := &stmt{s, z}
	z.stmts[sql] = st
	return st, nil
}

func (z *conn) Exec(sql string) error {
	for sql = strings.TrimSpace(sql); sql != ""; {
		s, rest, err := z.c.PrepareTransient(sql)
		if err != nil {
			return classifyError(err)
		}
		sql = strings.TrimSpace(sql[len(sql)-rest:])
		for row := true; row && err == nil; {
			row, err = s.Step()
		}
		if ferr := s.Finalize(); err == nil {
			err = ferr
		}
		if err != nil {
			return classifyError(err)
		}
	}
	return nil
}

func (z *conn) InTransaction() bool            { return !z.c.AutocommitEnabled() }
func (z *conn) Interrupt(done <-chan struct{}) { z.c.SetInterrupt(done) }
func (z *conn) BytesBound() int64              { return z.written }

func (z *conn) Close() error {
	z.stmts = nil
	return classifyError(z.c.Close())
}

type stmt struct {
	s *zs.Stmt
	z *conn
}

func (st *stmt) BindInt(i int, v int64)   { st.s.BindInt64(i, v) }
func (st *stmt) BindText(i int, v string) { st.s.BindText(i, v) }

// BindJSON binds text without converting it to a string first; the driver copies it.
func (st *stmt) BindJSON(i int, v []byte) {
	if v == nil {
		st.s.BindNull(i)
		return
	}
	st.z.written += int64(len(v))
	st.s.BindText(i, unsafe.String(unsafe.SliceData(v), len(v)))
}

func (st *stmt) Step() (bool, error) {
	row, err := st.s.Step()
	return row, classifyError(err)
}

func (st *stmt) Int(col int) int64             { return st.s.ColumnInt64(col) }
func (st *stmt) Text(col int) string           { return st.s.ColumnText(col) }
func (st *stmt) Len(col int) int               { return st.s.ColumnLen(col) }
func (st *stmt) Bytes(col int, buf []byte) int { return st.s.ColumnBytes(col, buf) }
func (st *stmt) CountChanges() int64           { return int64(st.z.c.Changes()) }
func (st *stmt) Reset() error {
	// Step has already returned the error.
	_ = st.s.Reset()
	return nil
}
