package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/store"
)

// fileIdentity are the database and its log as they were opened. What is written to a file that nobody can find any
// more under its name is lost with this process, without a word from the system: so whoever writes looks first, and
// once more before anybody is told that it was written. A nil one looks at nothing.
type fileIdentity struct {
	path string
	file fs.FileInfo
	log  atomic.Pointer[fs.FileInfo] // nil if there was none
}

const logSuffix = "-wal"

// newFileIdentity notes the files of the database, which is open.
func newFileIdentity(path string) (*fileIdentity, error) {
	file, err := os.Lstat(path)
	if err != nil {
		return nil, newUnavailable("find the database that was opened: %w", err)
	}
	at := &fileIdentity{path: path, file: file}
	at.refreshLog()
	return at, nil
}

// refreshLog notes the log again: the last connection that is closed removes it.
func (at *fileIdentity) refreshLog() {
	if at == nil {
		return
	}
	at.log.Store(nil)
	if log, err := os.Lstat(at.path + logSuffix); err == nil {
		at.log.Store(&log)
	}
}

// check returns an ErrGone if the files are not where they were.
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

// guardOpen returns open, which opens nothing but the same database.
func (at *fileIdentity) guardOpen(open func() (dbConn, error)) func() (dbConn, error) {
	return func() (dbConn, error) {
		if err := checkSameFile(at.path, at.file); err != nil {
			return nil, err
		}
		return open()
	}
}

// checkSameFile reports, as an ErrGone, that the path does not lead to the file.
func checkSameFile(path string, file fs.FileInfo) error {
	found, err := os.Lstat(path)
	what := "was removed or moved"
	switch {
	case err == nil && os.SameFile(found, file):
		return nil
	case err == nil:
		what = "was replaced"
	case !errors.Is(err, fs.ErrNotExist):
		what = fmt.Sprintf("cannot be found any more (%v)", err)
	}
	return fmt.Errorf("%w: %w: %s %s while it was open", store.ErrUnavailable, store.ErrGone, path, what)
}
