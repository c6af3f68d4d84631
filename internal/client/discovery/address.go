package discovery

import (
	"context"
	"errors"
	"net"
	"net/url"

	"github.com/cairn-dev/cairn/internal/session"
)

// FindSocket returns the socket of the server of the data directory if that listens at the address, a URL on this
// machine; "" if another server does, or the server does not answer at its socket. A server that only relays has
// another address. It is an error if a process of a tool listens there.
func FindSocket(ctx context.Context, dataDir, address string) (socket string, err error) {
	d, err := Read(dataDir)
	if err != nil || d.Socket == "" || !isSameAddress(d.URL, address) {
		return "", nil // no server has announced itself there
	}
	conn, _, err := DialOwner(ctx, d.Socket)
	if untrusted, ok := errors.AsType[*session.Error](err); ok {
		return "", untrusted
	}
	if err != nil {
		return "", nil // it ended, and another program may have the address
	}
	return d.Socket, conn.Close() // it only asked
}

// isSameAddress reports whether a URL names the server that announced its own one. "localhost" is every loopback
// address of this machine.
func isSameAddress(announced, address string) bool {
	a, errA := url.Parse(announced)
	b, errB := url.Parse(address)
	if errA != nil || errB != nil || a.Scheme != b.Scheme || a.Port() == "" || a.Port() != b.Port() || b.Path != "" {
		return false
	}
	ip := net.ParseIP(b.Hostname())
	return a.Hostname() == b.Hostname() || b.Hostname() == "localhost" ||
		a.Hostname() == "localhost" && ip != nil && ip.IsLoopback()
}
