// Package statefile reads and changes the small files that several processes share: credentials, what is trusted, a
// user's configuration. A reader sees the file of before or after a change, never a part; two changes follow one
// another.
package statefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Read returns a regular file of at most limit bytes; nil when there is none. A file that others can read is made
// readable for its owner only, where that can be done.
func Read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s is %d bytes long, the limit is %d", path, info.Size(), limit)
	}
	if info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600) // somebody else made it readable; where that cannot be undone, reading still helps
	}
	raw, err := os.ReadFile(path)
	if raw == nil && err == nil {
		raw = []byte{}
	}
	return raw, err
}

// patience is how long a lock is waited for by those who do not say.
const patience = 10 * time.Second

// patient bounds how long a lock is waited for. Who gives up then says why.
func patient(ctx context.Context, why error) (context.Context, context.CancelFunc) {
	if until, ok := ctx.Deadline(); ok {
		return context.WithDeadlineCause(ctx, until.Add(-time.Millisecond), why) // before ctx itself
	}
	return context.WithTimeoutCause(ctx, patience, why)
}

// Change runs f while no other process changes the file, in a directory that it makes for the owner alone. The lock stands
// beside what links lead to, so that all who lead there have the same.
func Change(ctx context.Context, path string, f func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	target, err := follow(path)
	if err != nil {
		return err
	}
	unlock, err := Lock(ctx, target+".lock")
	if err != nil {
		return linked(path, target, err)
	}
	defer unlock()
	return f()
}

// Replace writes a file durably and renames it into place. Where there is a link, it stays, and what it leads to is
// replaced.
func Replace(path string, data []byte, mode fs.FileMode) error {
	target, err := follow(path)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-*") // made 0600
	if err != nil {
		return linked(path, target, err)
	}
	_, err = tmp.Write(data)
	if mode != 0o600 {
		err = errors.Join(err, tmp.Chmod(mode))
	}
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), target)
	}
	if err != nil {
		return linked(path, target, errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// Clean removes what was left beside a file by those who died while they replaced it. Nobody else may change the file
// meanwhile.
func Clean(path string) {
	target, err := follow(path)
	if err != nil {
		return
	}
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && strings.HasPrefix(e.Name(), "."+filepath.Base(target)+"-") && time.Since(info.ModTime()) > leftAge {
			_ = os.Remove(filepath.Join(filepath.Dir(target), e.Name())) // it is tried again at the next change
		}
	}
}

// leftAge is how old what is left must be: another lock may hold for the same file under another name.
const leftAge = time.Minute

// maxLinks is how many links may lead to one another.
const maxLinks = 16

// follow returns the file that links lead to, which need not be there.
func follow(path string) (string, error) {
	at := path
	for range maxLinks {
		to, err := os.Readlink(at)
		if err != nil {
			return at, nil // no link, or nothing that can be read: writing says what is wrong
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(at)) // .. leads out of where the folder really is
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		at = to
	}
	return "", fmt.Errorf("%s is a link that leads nowhere", path)
}

// linked says that it is not the file of that name which could not be written.
func linked(path, target string, err error) error {
	if path == target {
		return err
	}
	return fmt.Errorf("%s is a link: %w", path, err)
}
