package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxSocket is the longest path of a unix socket that all systems support.
const maxSocket = 100

// SocketPath returns the path of the socket of a data directory: in the directory or, if that path is too long for a
// socket, in a private directory for temporary files.
func SocketPath(dataDir string) string {
	p := filepath.Join(dataDir, "server.sock")
	if len(p) <= maxSocket {
		return p
	}
	sum := sha256.Sum256([]byte(p))
	return filepath.Join(os.TempDir(), "cairn-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:8])+".sock")
}

// listenUnix opens the socket in a directory that only the user can enter. It replaces a socket without a listener.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > maxSocket {
		return nil, session.Errorf(
			session.CodeInvalid,
			"the socket's path has %d bytes, the limit is %d: %s",
			len(path),
			maxSocket,
			path,
		)
	}
	if err := ensurePrivateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	// A socket at which a process answers is not taken over; one that is left is removed.
	var d net.Dialer
	if c, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = c.Close()
		return nil, session.Errorf(session.CodeConflict, "another cairn process already listens on %s; stop it first", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket == 0 {
		return nil, session.Errorf(session.CodeConflict, "%s exists and is not a socket; move it away", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, session.Errorf(session.CodeUnavailable, "the old socket %s cannot be removed", path).Because(err)
	}
	// The file is removed by its identity (socketListener), so that a later owner of the path keeps its own.
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, session.Errorf(session.CodeUnavailable, "cannot listen on the socket %s", path).Because(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	file, err := os.Lstat(path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		_ = l.Close()
		return nil, session.Errorf(session.CodeUnavailable, "cannot protect the socket %s", path).Because(err)
	}
	return &socketListener{Listener: l, path: path, file: file}, nil
}

// socketListener removes its socket when it is closed, unless another process has replaced it.
type socketListener struct {
	net.Listener
	path   string
	file   fs.FileInfo
	remove sync.Once // a later socket may have the same inode
}

// Close implements net.Listener.
func (l *socketListener) Close() error {
	l.remove.Do(func() {
		if found, err := os.Lstat(l.path); err == nil && os.SameFile(found, l.file) {
			_ = os.Remove(l.path) // as closing a net.UnixListener does
		}
	})
	return l.Listener.Close()
}

// ensurePrivateDir creates the directory for the user alone. It refuses a directory that another user owns or can
// enter.
func ensurePrivateDir(dir string) error {
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
