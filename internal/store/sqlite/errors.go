package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	zs "zombiezen.com/go/sqlite"

	"github.com/cairn-dev/cairn/internal/store"
)

// ErrNewer says that the database was written by a newer cairn. It is an ErrUnavailable too.
var ErrNewer = errors.New("database is newer than this cairn")

// sqliteError is an SQLite error that says that the database cannot do it, rather than that a statement is refused.
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

// As gives damage its type.
func (f *sqliteError) As(target any) bool {
	d, ok := target.(**store.Damage)
	if !ok || !f.Is(store.ErrDamaged) {
		return false
	}
	*d = &store.Damage{Seq: -1, Detail: f.err.Error()}
	return true
}

// SQLite's primary result codes, and the extended ones that say that a sync failed.
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

// classifyError makes a failure of the driver's errors that are one.
func classifyError(err error) error {
	if err == nil {
		return nil
	}
	return classifyCode(int(zs.ErrCode(err)), err)
}

func classifyCode(code int, err error) error {
	switch code & 0xff {
	case codePerm, codeBusy, codeLocked, codeNoMem, codeReadOnly, codeInterrupt, codeIOErr, codeCorrupt, codeFull, codeCantOpen,
		codeProtocol, codeNotADB:
		return &sqliteError{code, err}
	default:
		return err
	}
}

// codeOf returns SQLite's result code of a failure, 0 if it is none.
func codeOf(err error) int {
	if f, ok := errors.AsType[*sqliteError](err); ok {
		return f.code
	}
	return 0
}

// classifyPrepareError is classify for a statement of ours that cannot be prepared: what it names is not there any
// more.
func classifyPrepareError(err error) error {
	const codeError = 1
	if err != nil && int(zs.ErrCode(err))&0xff == codeError {
		return &sqliteError{codeCorrupt, fmt.Errorf("the schema is not ours: %w", err)}
	}
	return classifyError(err)
}

// isUncertain reports whether a commit that failed so may be found in the log after a crash: everything was written,
// and what failed was to make sure of it. After a full disk the last frame is not whole.
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
