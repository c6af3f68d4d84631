// Package statefile reads and changes small files that several processes share: credentials, trust, a user's
// configuration. A reader never sees a part of a change, and changes do not overlap.
package statefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Read returns a regular file of at most limit bytes; nil if it does not exist. If other users can read the file, it is
// made readable for its owner only, if possible.
func Read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600) // best effort
	}
	return ReadRegular(path, limit)
}

// ReadRegular returns the content, never nil, of a regular file of at most limit bytes.
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, info, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, fmt.Errorf("%s is %d bytes long, the limit is %d", path, info.Size(), limit)
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit { // it grows
		return nil, fmt.Errorf("%s is longer than the limit of %d bytes", path, limit)
	}
	return raw, err
}

// OpenRegular opens a regular file for reading. Other files are not opened, because opening alone has an effect on some
// devices and pipes. It never waits, also not on a pipe that takes the file's place after it was looked at.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	notRegular := fmt.Errorf("%s is not a regular file", path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notRegular
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = notRegular
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// lockTimeout is how long Lock waits if the context has no deadline.
const lockTimeout = 10 * time.Second

// withLockTimeout bounds how long a lock is waited for. The cause of the context is why then.
func withLockTimeout(ctx context.Context, why error) (context.Context, context.CancelFunc) {
	if until, ok := ctx.Deadline(); ok {
		return context.WithDeadlineCause(ctx, until.Add(-time.Millisecond), why) // earlier than ctx, so that why is the cause
	}
	return context.WithTimeoutCause(ctx, lockTimeout, why)
}

// WithLock runs f while no other process changes the file. It creates the directory, for the owner only. The lock file
// is beside the file that links lead to, so that all paths to it share the lock.
func WithLock(ctx context.Context, path string, f func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	target, err := ResolveLink(path)
	if err != nil {
		return err
	}
	unlock, err := Lock(ctx, target+".lock")
	if err != nil {
		return linkError(path, target, err)
	}
	defer unlock()
	return f()
}

// Replace writes a file durably and renames it into place. If path is a link, the file that it leads to is replaced.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return replace(path, data, mode, true)
}

// ReplaceUnsynced is Replace without waiting for the disk: a power cut may lose the change. It is for what is written
// while a person types.
func ReplaceUnsynced(path string, data []byte, mode fs.FileMode) error {
	return replace(path, data, mode, false)
}

func replace(path string, data []byte, mode fs.FileMode, sync bool) error {
	target, err := ResolveLink(path)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-*") // with mode 0600
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok { // the temporary name means nothing to a user
			err = &fs.PathError{Op: "write", Path: target, Err: pathErr.Err}
		}
		return linkError(path, target, err)
	}
	_, err = tmp.Write(data)
	if mode != 0o600 {
		err = errors.Join(err, tmp.Chmod(mode))
	}
	if sync {
		err = errors.Join(err, tmp.Sync())
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), target)
	}
	if err != nil {
		return linkError(path, target, errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// Clean removes temporary files that processes left because they died in Replace. The caller holds the lock.
func Clean(path string) {
	target, err := ResolveLink(path)
	if err != nil {
		return
	}
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		isTemp := strings.HasPrefix(e.Name(), "."+filepath.Base(target)+"-")
		if err == nil && isTemp && info.Mode().IsRegular() && time.Since(info.ModTime()) > tempFileAge {
			_ = os.Remove(filepath.Join(filepath.Dir(target), e.Name())) // best effort
		}
	}
}

// tempFileAge is the age at which Clean removes a temporary file. Under another name, the file may have another lock.
const tempFileAge = time.Minute

// maxLinks bounds a chain of links.
const maxLinks = 16

// ResolveLink returns the file that links lead to, which need not exist.
func ResolveLink(path string) (string, error) {
	at := path
	for range maxLinks {
		to, err := os.Readlink(at)
		if err != nil {
			return at, nil // not a link, or unreadable: writing it reports the error
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(at)) // ".." in to is relative to the real directory
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		at = to
	}
	return "", fmt.Errorf("%s is a broken symbolic link", path)
}

// linkError adds to an error that path is a link.
func linkError(path, target string, err error) error {
	if path == target {
		return err
	}
	return fmt.Errorf("%s is a link: %w", path, err)
}
