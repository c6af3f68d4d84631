package searchindex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	zs "zombiezen.com/go/sqlite"
)

// errForeign means that a database is an index of another version or another store.
var errForeign = errors.New("search.db belongs to another version or another store")

// errMissingTable means that a database of this version lacks a table.
var errMissingTable = errors.New("search.db lacks a table")

// errGrown means that an index was trimmed to a smaller bound than the one that it has now.
var errGrown = errors.New("storage.search was raised after the index had been trimmed")

// errIrregular means that something else is in the place of the file.
var errIrregular = errors.New("search.db is not a regular file")

// errEmptied means that a table has lost its rows: what others have refers to them.
var errEmptied = errors.New("a table of search.db was emptied")

// errNoRoom means that nothing is written because the disk is nearly full.
var errNoRoom = errors.New("the search index is not written")

// errReplaced means that the file was removed or replaced while it was open.
var errReplaced = errors.New("search.db was removed or replaced")

// mustRebuild reports whether an error shows that the database is invalid.
func mustRebuild(err error) bool {
	if err == nil {
		return false
	}
	code := zs.ErrCode(err).ToPrimary()
	return code == zs.ResultCorrupt || code == zs.ResultNotADB || errors.Is(err, errForeign) ||
		errors.Is(err, errMissingTable) || errors.Is(err, errGrown) || errors.Is(err, errEmptied) ||
		errors.Is(err, errIrregular) || errors.Is(err, errReplaced) || errors.Is(err, fs.ErrNotExist)
}

// discard removes a database that an error shows to be invalid, and reports whether it did.
func (x *Index) discard(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrNotBuilt) || errors.Is(err, errNoRoom) {
		return false
	}
	x.files.Lock()
	defer x.files.Unlock()
	// An error that says no more, such as that of a missing table, is explained by another look at the file.
	if !mustRebuild(err) && zs.ErrCode(err) == zs.ResultError {
		err = x.recheck()
	}
	if !mustRebuild(err) {
		return false
	}
	x.Logger.WarnContext(ctx, "the search index is rebuilt", "reason", err)
	return errors.Join(x.close(), Remove(x.Dir)) == nil
}

// recheck looks at the file anew, and returns why it is invalid.
func (x *Index) recheck() error {
	c, err := openConn(File(x.Dir), zs.OpenReadOnly)
	if err != nil {
		return err
	}
	return errors.Join(x.check(c), c.Close())
}

// isReplaced reports whether the file of writer is not the one in the directory any more.
func (x *Index) isReplaced() bool {
	info, err := os.Lstat(File(x.Dir))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !os.SameFile(info, x.opened)
}

// The tables and indexes that an index has, those that FTS5 makes too.
const (
	tableNames = `["meta", "session", "document", "document_by_seq", "entry", "entry_data", "entry_idx", "entry_docsize",
		"entry_config"]`
	tableCount = 9
)

// check prepares a connection, and returns an error unless the database is this index.
func (x *Index) check(c *zs.Conn) error {
	for _, sql := range pragmas {
		if err := execute(c, sql); err != nil {
			return err
		}
	}
	have, err := queryText(c, "PRAGMA user_version")
	if err != nil {
		return err
	}
	names, err := queryInts(c, "SELECT count(*) FROM sqlite_schema WHERE name IN (SELECT value FROM json_each(?1))", tableNames)
	if err != nil {
		return err
	}
	if have == fmt.Sprint(version) && names[0] != tableCount {
		return errMissingTable
	}
	id, err := queryText(c, "SELECT store FROM meta")
	trimmed, trimmedErr := queryInts(c, "SELECT trimmed FROM meta")
	if err == nil && trimmedErr == nil && len(trimmed) == 1 && trimmed[0] > 0 && (x.MaxBytes == 0 || x.MaxBytes > trimmed[0]) {
		return errGrown
	}
	if have != fmt.Sprint(version) || id != x.StoreID || zs.ErrCode(err).ToPrimary() == zs.ResultError { // no such table
		return errForeign
	}
	if err != nil {
		return err
	}
	whole, err := queryInts(c, isWhole)
	if err == nil && whole[0] == 0 {
		return errEmptied
	}
	return err
}

// isWhole is 1 unless a table has no rows and others say that it had some; it reads a few. FTS5 always has the rows 1 and
// 10 of its data.
const isWhole = `SELECT (SELECT count(*) FROM entry_data WHERE id IN (1, 10)) = 2
	AND EXISTS (SELECT 1 FROM document) = EXISTS (SELECT 1 FROM entry_docsize)
	AND (EXISTS (SELECT 1 FROM session) OR NOT EXISTS (SELECT 1 FROM document))`

// Condition is what a look at the file of an index shows.
type Condition struct {
	Exists  bool
	Trimmed bool  // texts that were indexed first have left it
	Problem error // why it will be rebuilt, or cannot be read; nil if it is valid
}

// Examine looks at the index of a store in a directory and changes nothing. maxBytes is its bound. It works beside a process
// that uses the index.
func Examine(dir, storeID string, maxBytes int64) (out Condition) {
	c, err := openConn(File(dir), zs.OpenReadOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return out
	}
	out.Exists, out.Problem = true, err
	if err != nil {
		return out
	}
	x := &Index{Dir: dir, StoreID: storeID, MaxBytes: maxBytes}
	if out.Problem = x.check(c); out.Problem == nil {
		out.Trimmed, out.Problem = isTrimmed(c)
	}
	_ = c.Close() // nothing was written
	return out
}

// isTrimmed reports whether documents have left the index because it was too large.
func isTrimmed(c *zs.Conn) (bool, error) {
	n, err := queryInts(c, "SELECT trimmed FROM meta")
	return err == nil && len(n) == 1 && n[0] > 0, err
}
