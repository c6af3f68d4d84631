package server

import (
	"fmt"
	"net"
	"net/http"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

// relayClient is the client of the requests that a relay passes on. The relay has applied the bounds of its clients.
const relayClient = "relay"

// clientOf names the sender of a request for bounds that hold for each client: a token, else a process of this machine
// where the kernel tells which, else an address.
func clientOf(r *http.Request) string {
	p := peer.FromRequest(r)
	if token := caller.FromContext(r.Context()).Token; token != "" {
		return "token " + token
	}
	switch a, ok := p.RemoteAddr.(*net.TCPAddr); {
	case p.Unix && r.Header.Get(httpio.HeaderCaller) != "":
		return relayClient
	case p.Unix:
		return fmt.Sprintf("process %d", p.Process.PID)
	case ok:
		return a.IP.String()
	default:
		return "" // a call in this process
	}
}
