package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/store"
)

// whereabouts are the database and its log as they were opened. What is written to a file that nobody can find any more
// under its name is lost with this process, without a word from the system: so whoever writes looks first, and once more
// before anybody is told that it was written. A nil one looks at nothing.
type whereabouts struct {
	path string
	file fs.FileInfo
	log  atomic.Pointer[fs.FileInfo] // nil if there was none
}

const logSuffix = "-wal"

// whereaboutsOf notes the files of the database, which is open.
func whereaboutsOf(path string) (*whereabouts, error) {
	file, err := os.Lstat(path)
	if err != nil {
		return nil, unavailable("find the database that was opened: %w", err)
	}
	at := &whereabouts{path: path, file: file}
	at.reopened()
	return at, nil
}

// reopened notes the log again: the last connection that is closed removes it.
func (at *whereabouts) reopened() {
	if at == nil {
		return
	}
	at.log.Store(nil)
	if log, err := os.Lstat(at.path + logSuffix); err == nil {
		at.log.Store(&log)
	}
}

// check returns an ErrGone if the files are not where they were.
func (at *whereabouts) check() error {
	if at == nil {
		return nil
	}
	err := same(at.path, at.file)
	if log := at.log.Load(); err == nil && log != nil {
		err = same(at.path+logSuffix, *log)
	}
	return err
}

// checked returns open, which opens nothing but the same database.
func (at *whereabouts) checked(open func() (dbConn, error)) func() (dbConn, error) {
	return func() (dbConn, error) {
		if err := same(at.path, at.file); err != nil {
			return nil, err
		}
		return open()
	}
}

// same reports, as an ErrGone, that the path does not lead to the file.
func same(path string, file fs.FileInfo) error {
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
