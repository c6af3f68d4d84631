package discovery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/session"
)

// MaxSocketPath is the longest path of a Unix socket that all systems support, in bytes.
const MaxSocketPath = 100

// SocketPath returns the path of the socket of a data directory: in the directory or, if that path is too long for a
// socket, in a private directory for temporary files.
func SocketPath(dataDir string) string {
	p := filepath.Join(dataDir, "server.sock")
	if len(p) <= MaxSocketPath {
		return p
	}
	sum := sha256.Sum256([]byte(p))
	return filepath.Join(os.TempDir(), "cairn-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:8])+".sock")
}

// DialOwner connects to the socket of the owner of the data and returns the pid of the process that listens there. It
// is an error if that may be a process of a tool: a command can end the owner and start another one in its place.
func DialOwner(ctx context.Context, socket string) (net.Conn, int, error) {
	d := net.Dialer{Timeout: ownerDial}
	conn, err := d.DialContext(ctx, "unix", socket)
	u, ok := conn.(*net.UnixConn)
	if err != nil || !ok {
		return conn, 0, err
	}
	h, _ := peer.ReadCredentials(u)
	defer h.Close()
	if err := h.CheckMark(); err != nil {
		_ = u.Close()
		return nil, h.PID, describeUntrusted(h.PID, socket, err)
	}
	return conn, h.PID, nil
}

// describeUntrusted returns the error for an owner that may be a process of a tool.
func describeUntrusted(pid int, socket string, err error) error {
	var text string
	switch {
	case errors.Is(err, peer.ErrTool):
		text = fmt.Sprintf("process %d, which owns the data and listens at %s, is not trusted: %v; "+
			"end it (kill %d) and try again", pid, socket, err, pid)
	case errors.Is(err, peer.ErrHidden):
		text = fmt.Sprintf("the process that owns the data and listens at %s is not trusted: %v; "+
			"use cairn in the same container, or end that process", socket, err)
	default: // another process takes over
		return fmt.Errorf("the process at %s: %w", socket, err)
	}
	return session.Errorf(session.CodeUnavailable, "%s", text).Because(err)
}

// ownerDial bounds the time to connect to the owner.
const ownerDial = 2 * time.Second
