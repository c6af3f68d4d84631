package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/store"
)

// fileIdentity identifies the files of the database and its write-ahead log as they were opened. It detects that
// they were deleted or replaced while open; writes would otherwise go to an unlinked inode. The writer checks it
// before a batch, and again before it answers. A nil fileIdentity checks nothing.
type fileIdentity struct {
	path string
	file fs.FileInfo
	log  atomic.Pointer[fs.FileInfo] // nil if it did not exist
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

// check returns an ErrGone if the files were moved, removed or replaced.
func (at *fileIdentity) check() error {
	if at == nil {
		return nil
	}
	err := checkSameFile(at.path, at.file)
	if log := at.log.Load(); err == nil && log != nil {
		err = checkSameFile(at.path+logSuffix, *log)
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
	found, err := os.Lstat(path)
	what := "was removed or moved"
	switch {
	case err == nil && os.SameFile(found, file):
		return nil
	case err == nil:
		what = "was replaced"
	case !errors.Is(err, fs.ErrNotExist):
		what = fmt.Sprintf("cannot be found (%v)", err)
	}
	return fmt.Errorf("%w: %w: %s %s while it was open", store.ErrUnavailable, store.ErrGone, path, what)
}
