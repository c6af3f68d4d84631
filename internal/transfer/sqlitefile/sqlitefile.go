// Package sqlitefile reads SQLite databases of other programs, which may run meanwhile. It changes no file of theirs:
// also not those beside the database, which SQLite creates for a reader where it can. All reads are of one snapshot.
package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	zs "zombiezen.com/go/sqlite"

	"github.com/cairn-dev/cairn/internal/fileuri"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// MaxValue is the length in bytes from which on a value is left out.
const MaxValue = 64 << 20

// busyTimeout is how long a reader waits for a lock of a program that writes.
const busyTimeout = 2 * time.Second

// The errors of a database that cannot be read. Their texts are for the user.
var (
	ErrLocked    = errors.New("another program has locked the database; end it and try again")
	ErrDamaged   = errors.New("the database is damaged")
	ErrTruncated = errors.New("the database is truncated")
	ErrNotSQLite = errors.New("it is not an SQLite database")
	ErrChanged   = errors.New("another program has changed the database while it was read; try again")
	// ErrUnfinished: the transaction is to be rolled back, which changes the database.
	ErrUnfinished = errors.New("a program ended in a transaction of the database; start that program once, and try again")
)

// DB is an open database. It is used by one goroutine at a time.
type DB struct {
	conn    *zs.Conn
	files   files
	scratch string // folder with a copy of the database; "" if it is read in place
}

// Open opens a database. The reads end with ctx.
func Open(ctx context.Context, path string) (*DB, error) {
	f, err := inspect(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	d := &DB{files: f}
	if err = d.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), d.Close())
	}
	return d, nil
}

// open opens the database in the first way that works, and begins the snapshot.
func (d *DB) open(ctx context.Context) error {
	if d.files.needsCopy() {
		return d.openCopy(ctx, logSuffix, zs.OpenReadOnly)
	}
	var err error
	for _, o := range d.files.options() {
		if err = d.connect(ctx, fileuri.Format(d.files.path)+"?"+o, zs.OpenReadOnly); err == nil {
			return nil
		}
	}
	if errors.Is(err, ErrUnfinished) { // the transaction is rolled back in a copy
		if copyErr := d.openCopy(ctx, journalSuffix, zs.OpenReadWrite); copyErr != nil {
			return fmt.Errorf("%w (%v)", err, copyErr)
		}
		return nil
	}
	return err
}

// openCopy opens a copy of the database and of the file beside it.
func (d *DB) openCopy(ctx context.Context, suffix string, access zs.OpenFlags) error {
	path, dir, err := d.files.copyToScratch(suffix)
	if d.scratch = dir; err != nil {
		return err
	}
	if d.files.haveChanged() {
		return ErrChanged
	}
	return d.connect(ctx, fileuri.Format(path), access)
}

func (d *DB) connect(ctx context.Context, uri string, access zs.OpenFlags) error {
	c, err := zs.OpenConn(uri, access|zs.OpenURI)
	if err != nil {
		return explain(err)
	}
	d.conn = c
	c.SetBusyTimeout(busyTimeout)
	c.SetInterrupt(ctx.Done())
	// The schema is that of another program: nothing of it may run functions with effects.
	for _, sql := range []string{
		"PRAGMA trusted_schema=OFF", "PRAGMA query_only=ON", "PRAGMA cell_size_check=ON", "BEGIN",
		"SELECT count(*) FROM sqlite_schema",
	} {
		for _, err := range d.Rows(sql) {
			if err != nil {
				_ = c.Close() // the error of the statement counts
				d.conn = nil
				return err
			}
		}
	}
	return nil
}

// Check returns ErrChanged if what was read may be of two states of the database. It is for the end of the reading.
func (d *DB) Check() error {
	if d.scratch == "" && d.files.isImmutable() && d.files.haveChanged() {
		return ErrChanged
	}
	return nil
}

// Close closes the database.
func (d *DB) Close() error {
	var err error
	if d.conn != nil {
		err = d.conn.Close()
	}
	if d.scratch != "" {
		err = errors.Join(err, os.RemoveAll(d.scratch))
	}
	return err
}

// Columns returns the names of the table's columns; it is empty if there is no such table.
func (d *DB) Columns(table string) (map[string]bool, error) {
	out := map[string]bool{}
	for row, err := range d.Rows("SELECT name FROM pragma_table_info(?1)", table) {
		if err != nil {
			return nil, err
		}
		out[row.Text(0)] = true
	}
	return out, nil
}

// Rows runs a query. A row is valid until the next one. An error is the last value.
func (d *DB) Rows(sql string, args ...string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		s, err := d.conn.Prepare(sql)
		if err != nil {
			yield(Row{}, explain(err))
			return
		}
		defer func() { _ = s.Reset() }() // its error is that of the step
		for i, a := range args {
			s.BindText(i+1, a)
		}
		for {
			more, err := s.Step()
			if err != nil {
				yield(Row{}, explain(err))
				return
			}
			if !more || !yield(Row{s}, nil) {
				return
			}
		}
	}
}

// Row is a row of a query. Columns count from 0.
type Row struct{ s *zs.Stmt }

// Text returns a value as text. It is cut at MaxValue.
func (r Row) Text(col int) string {
	if r.s.ColumnLen(col) > MaxValue {
		return ""
	}
	return r.s.ColumnText(col)
}

// Int returns a value as an integer, 0 for NULL.
func (r Row) Int(col int) int64 { return r.s.ColumnInt64(col) }

// Bytes returns a copy of a text or blob. An unusable value has a reason instead.
func (r Row) Bytes(col int) (data []byte, reason string) {
	n := r.s.ColumnLen(col)
	if n > MaxValue {
		return nil, fmt.Sprintf("it is larger than %d MiB", MaxValue>>20)
	}
	data = make([]byte, n)
	return data[:r.s.ColumnBytes(col, data)], ""
}

// Object returns the values that are not NULL by the names of their columns: numbers, and all others as strings.
func (r Row) Object() foreign.Object {
	o := foreign.Object{}
	for i := range r.s.ColumnCount() {
		switch name := r.s.ColumnName(i); r.s.ColumnType(i) {
		case zs.TypeNull:
		case zs.TypeInteger:
			o[name] = jsontext.Value(strconv.FormatInt(r.s.ColumnInt64(i), 10))
		case zs.TypeFloat:
			if f := r.s.ColumnFloat(i); !math.IsInf(f, 0) && !math.IsNaN(f) {
				o[name] = jsontext.Value(strconv.FormatFloat(f, 'g', -1, 64))
			}
		default:
			o[name] = foreign.Quote(r.Text(i))
		}
	}
	return o
}

// explain returns an error of SQLite as one of this package's, if there is one.
func explain(err error) error {
	code := zs.ErrCode(err)
	if code == zs.ResultReadOnlyRollback {
		return ErrUnfinished
	}
	switch code.ToPrimary() {
	case zs.ResultBusy, zs.ResultLocked:
		return ErrLocked
	case zs.ResultNotADB:
		return ErrNotSQLite
	case zs.ResultCorrupt:
		return fmt.Errorf("%w (SQLite: %v)", ErrDamaged, code)
	}
	return err
}
