package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// fileIdentity identifies the files of the database and its write-ahead log as they were opened. It detects that
// they were deleted or replaced while open; writes would otherwise go to an unlinked inode. The writer checks it
// before a batch, and again before it answers. It also detects a lost lease. A nil fileIdentity checks nothing.
type fileIdentity struct {
	path  string
	file  fs.FileInfo
	log   atomic.Pointer[fs.FileInfo] // nil if it did not exist
	lease func() error                // returns an ErrLeaseLost; nil is not checked
}

// newFileIdentity records the files of the open database.
func newFileIdentity(path string) (*fileIdentity, error) {
	file, err := os.Lstat(path)
	if err != nil {
		return nil, newUnavailable("find the database that was opened: %w", err)
	}
	at := &fileIdentity{path: path, file: file}
	at.refreshLog()
	return at, nil
}

// refreshLog records the log file again, because the last connection to be closed removes it.
func (at *fileIdentity) refreshLog() {
	if at == nil {
		return
	}
	at.log.Store(nil)
	if log, err := os.Lstat(at.path + logSuffix); err == nil {
		at.log.Store(&log)
	}
}

// checkLease returns an ErrLeaseLost if another process can own the folder. While a transaction holds SQLite's write
// lock, a nil error means that the commit comes before every write of a later owner.
func (at *fileIdentity) checkLease() error {
	if at == nil || at.lease == nil {
		return nil
	}
	return at.lease()
}

// check returns an ErrGone if the files were moved, removed or replaced, and an ErrLeaseLost if the lease was.
func (at *fileIdentity) check() error {
	if at == nil {
		return nil
	}
	err := checkSameFile(at.path, at.file)
	if log := at.log.Load(); err == nil && log != nil {
		err = checkSameFile(at.path+logSuffix, *log)
	}
	if err == nil {
		err = at.checkLease()
	}
	return err
}

// guardOpen returns an open function that only opens the same database file.
func (at *fileIdentity) guardOpen(open func() (dbConn, error)) func() (dbConn, error) {
	return func() (dbConn, error) {
		if err := checkSameFile(at.path, at.file); err != nil {
			return nil, err
		}
		return open()
	}
}

// checkSameFile returns an ErrGone if the path does not lead to the file.
func checkSameFile(path string, file fs.FileInfo) error {
	if change := describeChange(path, file); change != "" {
		return fmt.Errorf("%w: %w: %s %s while it was open", store.ErrUnavailable, store.ErrGone, path, change)
	}
	return nil
}
