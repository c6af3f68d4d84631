package discovery

import (
	"context"
	"net"
	"net/http"

	"github.com/cairn-dev/cairn/internal/access/peer"
)

// NewTransport returns a transport to the process that listens at the socket of the owner. Its connections have
// the rights of the user, so this process is closed to other processes of the user before the first one.
func NewTransport(socket string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := peer.ProtectClient(); err != nil {
			return nil, err
		}
		conn, _, err := DialOwner(ctx, socket)
		return conn, err
	}}
}
