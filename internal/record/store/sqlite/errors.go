package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	zs "zombiezen.com/go/sqlite"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// ErrNewer means that a newer cairn wrote the database. It is an ErrUnavailable too.
var ErrNewer = errors.New("database is newer than this cairn")

// sqliteError is an SQLite error that means that the database cannot do it, not that the statement is refused.
type sqliteError struct {
	code int // SQLite's extended result code
	err  error
}

func (f *sqliteError) Error() string { return f.err.Error() }
func (f *sqliteError) Unwrap() error { return f.err }

func (f *sqliteError) Is(target error) bool {
	switch target {
	case store.ErrUnavailable:
		return true
	case store.ErrReadOnly:
		return f.code&0xff == codeReadOnly
	case store.ErrFull:
		return f.code&0xff == codeFull
	case store.ErrDamaged:
		return f.code&0xff == codeCorrupt || f.code&0xff == codeNotADB
	default:
		return false
	}
}

// As turns damage into a *store.Damage.
func (f *sqliteError) As(target any) bool {
	d, ok := target.(**store.Damage)
	if !ok || !f.Is(store.ErrDamaged) {
		return false
	}
	*d = &store.Damage{Seq: -1, Detail: f.err.Error()}
	return true
}

// SQLite's primary result codes.
const (
	codePerm      = 3
	codeBusy      = 5
	codeLocked    = 6
	codeNoMem     = 7
	codeReadOnly  = 8
	codeInterrupt = 9
	codeIOErr     = 10
	codeCorrupt   = 11
	codeFull      = 13
	codeCantOpen  = 14
	codeProtocol  = 15
	codeNotADB    = 26
)

// classifyError turns the driver's errors into sqliteErrors where they are.
func classifyError(err error) error {
	if err == nil {
		return nil
	}
	return classifyCode(int(zs.ErrCode(err)), err)
}

func classifyCode(code int, err error) error {
	switch code & 0xff {
	case codePerm, codeBusy, codeLocked, codeNoMem, codeReadOnly, codeInterrupt, codeIOErr, codeCorrupt, codeFull,
		codeCantOpen, codeProtocol, codeNotADB:
		return &sqliteError{code, err}
	default:
		return err
	}
}

// codeOf returns SQLite's result code of a sqliteError, 0 for other errors.
func codeOf(err error) int {
	if f, ok := errors.AsType[*sqliteError](err); ok {
		return f.code
	}
	return 0
}

// classifyPrepareError is classifyError for a statement that cannot be prepared: its tables or columns are missing.
func classifyPrepareError(err error) error {
	const codeError = 1
	if err != nil && int(zs.ErrCode(err))&0xff == codeError {
		return &sqliteError{codeCorrupt, fmt.Errorf("the schema is damaged: %w", err)}
	}
	return classifyError(err)
}

// isUncertain reports whether a failed commit may still be found in the log after a crash: everything was written,
// and the sync failed. After a full disk, the last frame is incomplete.
func isUncertain(err error) bool { return codeOf(err)&0xff == codeIOErr }

func newUnavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", store.ErrUnavailable, fmt.Errorf(format, args...))
}

func readOnly(why error) error {
	return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, store.ErrReadOnly, why)
}

// isUnwritable reports whether err says that nothing can be written here, while reading may go well.
func isUnwritable(err error) bool {
	switch codeOf(err) & 0xff {
	case codeReadOnly, codeFull, codeCantOpen:
		return true
	}
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC)
}

// describeChange returns what happened to the file at the path, "" if it is still there.
func describeChange(path string, file fs.FileInfo) string {
	found, err := os.Lstat(path)
	switch {
	case err == nil && os.SameFile(found, file):
		return ""
	case err == nil:
		return "was replaced"
	case errors.Is(err, fs.ErrNotExist):
		return "was removed or moved"
	default:
		return fmt.Sprintf("cannot be found (%v)", err)
	}
}
