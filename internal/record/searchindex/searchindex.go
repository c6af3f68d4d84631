// Package searchindex is an index of the words in the messages and titles of all sessions: SQLite's FTS5, in a database of
// its own beside the store. It has no text, only the words, so that what it finds is read from the store; what the store
// does not have any more is never found.
//
// The index is derived. It is made again if it is missing, damaged, of another version or of another store. A follower
// keeps it up to date (see Index.Apply).
package searchindex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// Index is the index of a store. The fields up to Logger are set before its first use. It is a follower.Consumer, and its
// Search can be used beside that.
type Index struct {
	Store   store.Viewer
	StoreID string
	Dir     string // of the database, which exists
	// MaxBytes bounds the database. When it is larger, the texts that were indexed first leave.
	MaxBytes int64
	Logger   *slog.Logger

	files   sync.RWMutex // held for writing while the files are opened, closed and replaced
	writer  *zs.Conn     // used by the consumer's calls only; nil if the database is not open
	reading sync.Mutex
	reader  *zs.Conn

	removed bool // texts, of which the words are still in the file
}

const (
	fileName = "search.db"
	version  = 1
)

// File returns the database's file in a data directory.
func File(dir string) string { return filepath.Join(dir, fileName) }

// CursorFile returns the file of the follower's cursor in a data directory.
func CursorFile(dir string) string { return filepath.Join(dir, "search.cursor") }

// tables are the index: the texts with their places in the store, and the words of each with its marks. begun tells that a
// rebuild has: until then the index has nothing.
var tables = []string{
	"CREATE TABLE meta (store TEXT NOT NULL, begun INTEGER NOT NULL)",
	"CREATE TABLE session (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)",
	`CREATE TABLE text (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, part INTEGER NOT NULL,
		kind INTEGER NOT NULL, time INTEGER NOT NULL)`,
	"CREATE INDEX text_by_place ON text (session, seq)",
	`CREATE VIRTUAL TABLE entry USING fts5 (words, marks, content='', contentless_delete=1,
		tokenize="unicode61 remove_diacritics 2 categories 'L* N* M* Co'")`,
}

// Close closes the database.
func (x *Index) Close() error {
	x.files.Lock()
	defer x.files.Unlock()
	return x.close()
}

func (x *Index) close() (err error) {
	for _, c := range []**zs.Conn{&x.reader, &x.writer} {
		if *c != nil {
			err = errors.Join(err, (*c).Close())
			*c = nil
		}
	}
	return err
}

// Open opens the index, or makes it, and reports whether it has anything: else a rebuild has to begin, without the cursor of
// an earlier one.
func (x *Index) Open(ctx context.Context) (isBuilt bool, err error) {
	if err := x.open(ctx); err != nil {
		return false, err
	}
	return sqlitex.ResultBool(x.writer.Prep("SELECT begun FROM meta"))
}

// open opens the database, unless it is open, or makes it.
func (x *Index) open(ctx context.Context) error {
	x.files.Lock()
	defer x.files.Unlock()
	if x.writer != nil {
		return nil
	}
	c, err := openConn(File(x.Dir))
	if err == nil {
		if err = x.check(c); err == nil {
			x.writer = c
			return nil
		}
		_ = c.Close() // it is of no use
	}
	if !isUseless(err) {
		return fmt.Errorf("open the search index: %w", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		x.Logger.WarnContext(ctx, "the search index is made anew", "reason", err)
	}
	return x.create()
}

// discard removes a database that an error shows to be useless, and reports whether it did. It is made anew.
func (x *Index) discard(ctx context.Context, err error) bool {
	if err == nil || !isUseless(err) {
		return false
	}
	x.Logger.WarnContext(ctx, "the search index is made anew", "reason", err)
	x.files.Lock()
	defer x.files.Unlock()
	return errors.Join(x.close(), x.removeFiles()) == nil
}

// removeFiles removes the database's files.
func (x *Index) removeFiles() error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(File(x.Dir) + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the search index: %w", err)
		}
	}
	return nil
}

// errForeign means that a database is not the index of this store and this version.
var errForeign = errors.New("it is of another version or of another store")

// isUseless reports whether the database has to be made anew.
func isUseless(err error) bool {
	switch zs.ErrCode(err).ToPrimary() {
	case zs.ResultCorrupt, zs.ResultNotADB, zs.ResultError: // an error of SQL: a table or a column is missing
		return err != nil
	}
	return errors.Is(err, errForeign) || errors.Is(err, fs.ErrNotExist)
}

// openConn opens a database that exists.
func openConn(file string) (*zs.Conn, error) {
	if _, err := os.Lstat(file); err != nil {
		return nil, err
	}
	const noFollow zs.OpenFlags = 0x01000000 // SQLITE_OPEN_NOFOLLOW
	return zs.OpenConn(file, zs.OpenReadWrite|noFollow)
}

// pragmas are set on each connection. Freed pages are overwritten: what is deleted is gone. A commit is durable with the
// next Sync.
var pragmas = []string{
	"PRAGMA synchronous = NORMAL", "PRAGMA secure_delete = ON", "PRAGMA cache_size = -8192",
	"PRAGMA journal_size_limit = 16777216", "PRAGMA trusted_schema = OFF", "PRAGMA temp_store = MEMORY",
}

// check prepares a connection, and returns an error unless the database is this index.
func (x *Index) check(c *zs.Conn) error {
	for _, sql := range pragmas {
		if err := execute(c, sql); err != nil {
			return err
		}
	}
	have, err := sqlitex.ResultInt(c.Prep("PRAGMA user_version"))
	if err != nil {
		return err
	}
	if have != version {
		return errForeign
	}
	id, err := sqlitex.ResultText(c.Prep("SELECT store FROM meta"))
	if err != nil {
		return err
	}
	if id != x.StoreID {
		return errForeign
	}
	return nil
}

// create makes the database in the place of what is there.
func (x *Index) create() (err error) {
	if err := x.removeFiles(); err != nil {
		return err
	}
	file := File(x.Dir)
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create the search index: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("create the search index: %w", err)
	}
	c, err := openConn(file)
	if err != nil {
		return fmt.Errorf("create the search index: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("create the search index: %w", errors.Join(err, c.Close()))
		}
	}()
	for _, sql := range append([]string{"PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL"}, pragmas...) {
		if err := execute(c, sql); err != nil {
			return err
		}
	}
	err = transact(c, func() error {
		for _, sql := range tables {
			if err := execute(c, sql); err != nil {
				return err
			}
		}
		if err := execute(c, "INSERT INTO meta VALUES (?1, 0)", x.StoreID); err != nil {
			return err
		}
		return execute(c, fmt.Sprintf("PRAGMA user_version = %d", version))
	})
	if err == nil {
		x.writer = c
	}
	return err
}

// execute runs a statement and ignores its rows.
func execute(c *zs.Conn, sql string, args ...any) error {
	return sqlitex.Execute(c, sql, &sqlitex.ExecOptions{Args: args})
}

// transact runs f in a transaction, which ends with it.
func transact(c *zs.Conn, f func() error) (err error) {
	end, err := sqlitex.ImmediateTransaction(c)
	if err != nil {
		return err
	}
	defer end(&err)
	return f()
}
