package discovery

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxPrivate bounds the size of the private files.
const maxPrivate = 64 << 10

// readPrivate reads a file that only the user can read and write. It follows no symbolic link.
func readPrivate(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !isOwnedByUser(info) || isExposed(info) {
		return nil, fmt.Errorf("%s must be a file of yours with mode 0600", path)
	}
	return io.ReadAll(io.LimitReader(f, maxPrivate))
}

// writePrivate replaces the file atomically.
func writePrivate(path string, b []byte) error {
	if err := EnsurePrivateDir(filepath.Dir(path)); err != nil {
		return err
	}
	var r [4]byte
	_, _ = rand.Read(r[:]) // never fails
	temp := path + "." + hex.EncodeToString(r[:])
	if err := writeNew(temp, b); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return nil
}

func writeNew(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

// EnsurePrivateDir creates the directory for the user alone. It refuses a directory that another user owns or can
// enter.
func EnsurePrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return session.Errorf(session.CodeUnavailable, "cannot make the directory %s", dir).Because(err)
	}
	info, err := os.Lstat(dir)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = os.Stat(dir)
	}
	if err != nil {
		return session.Errorf(session.CodeUnavailable, "cannot inspect the directory %s", dir).Because(err)
	}
	if !isOwnedByUser(info) {
		return session.Errorf(session.CodeInvalid, "the directory %s belongs to another user", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, info.Mode().Perm()&0o700); err != nil {
			return session.Errorf(session.CodeInvalid, "the directory %s is open to other users; chmod 700 it", dir).
				Because(err)
		}
	}
	return nil
}
