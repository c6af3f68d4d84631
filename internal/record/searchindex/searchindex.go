// Package searchindex is an index of the words in the messages and titles of all sessions: SQLite's FTS5, in a database of
// its own beside the store. It has no text, only the words, so that what it finds is read from the store; what the store
// does not have any more is never found.
//
// The index is derived. It is rebuilt if it is missing, damaged, of another version or of another store. A follower keeps
// it up to date (see Index.Apply).
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
	"time"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/store"
)

// Index is the index of a store. The fields up to Logger are set before its first use. It is a follower.Consumer, whose
// calls do not overlap. Search may be called at any time. Close is called when no other call runs.
type Index struct {
	Store   store.Viewer
	StoreID string
	Dir     string // of the database, which exists
	// MaxBytes bounds the database. When it is larger, the documents that were indexed first leave. 0 is no bound.
	MaxBytes int64
	Logger   *slog.Logger

	common   int64        // documents of a common word; 0 is commonRows
	files    sync.RWMutex // held for reading during a call, for writing while the files are opened and removed
	writer   *zs.Conn     // of the consumer's calls; nil if the database is not open
	opened   fs.FileInfo  // the file that writer has
	readerMu sync.Mutex
	reader   *zs.Conn // of Search; nil if it is not open
}

const (
	fileName = "search.db"
	version  = 3
	// minFree is what an update of the index leaves of the disk, in bytes. It is more than what new work has to find.
	minFree = 64 << 20
	// busyTimeout bounds the wait for another program that locks the database.
	busyTimeout = 5 * time.Second
)

// File returns the database's file in a data directory.
func File(dir string) string { return filepath.Join(dir, fileName) }

// CursorFile returns the file of the follower's cursor in a data directory.
func CursorFile(dir string) string { return filepath.Join(dir, "search.cursor") }

// Remove removes the index in a data directory.
func Remove(dir string) error {
	err := removeFile(CursorFile(dir))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err = errors.Join(err, removeFile(File(dir)+suffix))
	}
	if err != nil {
		return fmt.Errorf("remove the search index: %w", err)
	}
	return nil
}

func removeFile(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// tables are the index: the documents with their position in the store, and the words of each with its marks. The digest
// is that of the document's text. purge is 1 while words of removed documents are in the file, and 2 while they are merged
// away. trimmed is the bound of an index that was too large and has lost documents, 0 for one that has all.
var tables = []string{
	"CREATE TABLE meta (store TEXT NOT NULL, purge INTEGER NOT NULL, trimmed INTEGER NOT NULL)",
	"CREATE TABLE session (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)",
	`CREATE TABLE document (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, part INTEGER NOT NULL,
		kind INTEGER NOT NULL, time INTEGER NOT NULL, digest INTEGER NOT NULL)`,
	"CREATE INDEX document_by_seq ON document (session, seq)",
	`CREATE VIRTUAL TABLE entry USING fts5 (words, marks, content='', contentless_delete=1,
		tokenize="unicode61 remove_diacritics 2 categories 'L* N* M* Co'")`,
}

// Close closes the database.
func (x *Index) Close() error {
	x.files.Lock()
	defer x.files.Unlock()
	return x.close()
}

// Drop closes and removes the index, to free space. It is rebuilt when the disk has room.
func (x *Index) Drop() error {
	x.files.Lock()
	defer x.files.Unlock()
	return errors.Join(x.close(), Remove(x.Dir))
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

// Open opens the index and reports whether there is one. If there is none, or one that cannot be used, Rebuild makes it.
func (x *Index) Open(ctx context.Context) (exists bool, err error) {
	x.files.Lock()
	defer x.files.Unlock()
	if x.writer != nil && !x.isReplaced() {
		return true, nil
	}
	if x.writer != nil {
		x.Logger.WarnContext(ctx, "the search index is rebuilt", "reason", errReplaced)
		return false, x.close()
	}
	c, err := openConn(File(x.Dir), zs.OpenReadWrite)
	if err == nil {
		if err = x.check(c); err == nil {
			return true, x.keepWriter(c)
		}
		_ = c.Close() // it is invalid
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case mustRebuild(err):
		x.Logger.WarnContext(ctx, "the search index is rebuilt", "reason", err)
		return false, nil
	default:
		return false, fmt.Errorf("open the search index: %w", err)
	}
}

// keepWriter makes a connection the one of the consumer's calls, and remembers which file it has.
func (x *Index) keepWriter(c *zs.Conn) error {
	info, err := os.Lstat(File(x.Dir))
	if err != nil {
		return errors.Join(err, c.Close())
	}
	x.writer, x.opened = c, info
	return nil
}

// openConn opens a database that exists.
func openConn(file string, flags zs.OpenFlags) (*zs.Conn, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	const noFollow zs.OpenFlags = 0x01000000 // SQLITE_OPEN_NOFOLLOW
	c, err := zs.OpenConn(file, flags|noFollow)
	if err == nil {
		c.SetBusyTimeout(busyTimeout)
	}
	return c, err
}

// pragmas are set on each connection. Freed pages are overwritten: what is deleted is gone. A commit is durable with the
// next Sync.
var pragmas = []string{
	"PRAGMA synchronous = NORMAL", "PRAGMA secure_delete = ON", "PRAGMA cache_size = -8192",
	"PRAGMA journal_size_limit = 16777216", "PRAGMA trusted_schema = OFF", "PRAGMA temp_store = MEMORY",
}

// create makes an empty database in the place of what is there.
func (x *Index) create() (err error) {
	if err := x.checkRoom(); err != nil {
		return err
	}
	x.files.Lock()
	defer x.files.Unlock()
	defer func() {
		if err != nil {
			err = fmt.Errorf("create the search index: %w", err)
		}
	}()
	if err := errors.Join(x.close(), Remove(x.Dir)); err != nil {
		return err
	}
	f, err := os.OpenFile(File(x.Dir), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	c, err := openConn(File(x.Dir), zs.OpenReadWrite)
	if err != nil {
		return err
	}
	for _, sql := range append([]string{"PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL"}, pragmas...) {
		err = errors.Join(err, execute(c, sql))
	}
	if err == nil {
		err = transact(c, func() error {
			for _, sql := range append(tables, fmt.Sprintf("PRAGMA user_version = %d", version)) {
				if err := execute(c, sql); err != nil {
					return err
				}
			}
			return execute(c, "INSERT INTO meta VALUES (?1, 0, 0)", x.StoreID)
		})
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	return x.keepWriter(c)
}

// use runs a call of the consumer on the writer's connection, whose statements end with ctx.
func (x *Index) use(ctx context.Context, f func(c *zs.Conn) error) error {
	x.files.RLock()
	defer x.files.RUnlock()
	if x.writer == nil {
		return fs.ErrNotExist
	}
	if err := x.checkRoom(); err != nil {
		return err
	}
	x.writer.SetInterrupt(ctx.Done())
	defer x.writer.SetInterrupt(nil)
	return f(x.writer)
}

// checkRoom returns an error if the index may not be written: what sessions need of the disk is theirs.
func (x *Index) checkRoom() error {
	if free, ok := fileattr.FreeSpace(x.Dir); ok && free < minFree {
		return fmt.Errorf("%w: the disk has only %d MiB left", errNoRoom, free>>20)
	}
	return nil
}

// execute runs a statement and ignores its rows.
func execute(c *zs.Conn, sql string, args ...any) error {
	return sqlitex.Execute(c, sql, &sqlitex.ExecOptions{Args: args})
}

// queryInts returns the columns of a statement's only row.
func queryInts(c *zs.Conn, sql string, args ...any) (out []int64, err error) {
	err = sqlitex.Execute(c, sql, &sqlitex.ExecOptions{Args: args, ResultFunc: func(st *zs.Stmt) error {
		for i := range st.ColumnCount() {
			out = append(out, st.ColumnInt64(i))
		}
		return nil
	}})
	return out, err
}

// queryText returns the first column of a statement's only row, "" without one.
func queryText(c *zs.Conn, sql string) (text string, err error) {
	err = sqlitex.Execute(c, sql, &sqlitex.ExecOptions{ResultFunc: func(st *zs.Stmt) error {
		text = st.ColumnText(0)
		return nil
	}})
	return text, err
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
