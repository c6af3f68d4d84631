package web

import (
	"net"
	"net/netip"

	"github.com/cairn-dev/cairn/internal/access/permission"
)

// ActionLocalAddress is the permission to reach an address of this machine or of a private network. Its resources are
// addresses with ports and not names, whose owners could change what they stand for.
const ActionLocalAddress = permission.LocalFetch

// allowedKey is the key of the addresses that the context of a call allows.
type allowedKey struct{}

// localAddressError reports addresses that are reached only with a permission of their own.
type localAddressError struct {
	addrs   []netip.Addr
	port    string
	reason  string // what the first address is
	refusal error  // for callers that do not ask
}

func (e *localAddressError) Error() string { return e.refusal.Error() }

// Unwrap returns the refusal.
func (e *localAddressError) Unwrap() error { return e.refusal }

// listResources returns the addresses with their port, as permissions name them.
func (e *localAddressError) listResources() []string {
	out := make([]string, len(e.addrs))
	for i, a := range e.addrs {
		out[i] = net.JoinHostPort(a.String(), e.port)
	}
	return out
}
