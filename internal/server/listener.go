package server

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/cairn-dev/cairn/internal/client/discovery"

	"github.com/cairn-dev/cairn/internal/session"
)

// listenUnix opens the socket in a directory that only the user can enter. It replaces a socket without a listener.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > discovery.MaxSocketPath {
		return nil, session.Errorf(
			session.CodeInvalid,
			"the socket's path has %d bytes, the limit is %d: %s",
			len(path),
			discovery.MaxSocketPath,
			path,
		)
	}
	if err := discovery.EnsurePrivateDir(filepath.Dir(path)); err != nil {
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
