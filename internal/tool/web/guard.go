package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/netaddr"
	"github.com/cairn-dev/cairn/internal/tool"
)

// guard connects only to addresses that are public or allowed, or that the context of a call allows.
type guard struct {
	allow        []netip.Prefix
	lookup       func(ctx context.Context, host string) ([]netip.Addr, error)
	ownPorts     func() []int
	ownAddresses func() []netip.Addr // returns the addresses of this machine
}

func newGuard(c Config) *guard {
	g := &guard{allow: c.Allow, lookup: c.Lookup, ownPorts: c.OwnPorts, ownAddresses: netaddr.ListOwn}
	if g.ownPorts == nil {
		g.ownPorts = func() []int { return nil }
	}
	if g.lookup == nil {
		g.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return g
}

const connectTime = 10 * time.Second

// dial connects to a checked address of the host. The address is checked again on the socket, when it cannot change any
// more. If one address of a name is refused, the name is refused: its owner could choose which one is used.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := g.resolve(ctx, host, port)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: connectTime, ControlContext: g.checkAddress}
	for _, a := range addrs {
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// resolve returns the addresses of the host after checking all of them.
func (g *guard) resolve(ctx context.Context, host, port string) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = g.lookup(ctx, host); err != nil {
		return nil, tool.Failf("%s could not be resolved: %v.", host, describeDNSError(err))
	}
	if len(addrs) == 0 {
		return nil, tool.Failf("%s has no address.", host)
	}
	var local *localAddressError
	for i, a := range addrs {
		addrs[i] = a.Unmap()
		err := g.check(ctx, host, a, port)
		if e, ok := errors.AsType[*localAddressError](err); ok {
			if local == nil {
				local = e
			} else {
				local.addrs = append(local.addrs, e.addrs...)
			}
		} else if err != nil {
			return nil, err
		}
	}
	if local != nil {
		return nil, local
	}
	return addrs, nil
}

func describeDNSError(err error) error {
	if d, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(d.Err)
	}
	return err
}

// checkAddress checks the address that a socket is about to connect to.
func (g *guard) checkAddress(ctx context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return g.check(ctx, at.Addr().String(), at.Addr(), strconv.Itoa(int(at.Port())))
}

// check returns the error for an address of the host that must not be reached at the port. A port of cairn itself is
// refused on all addresses of this machine, also allowed ones, because its server trusts local callers. An
// address that a person may allow is a *localAddressError.
func (g *guard) check(ctx context.Context, host string, a netip.Addr, port string) error {
	own := slices.ContainsFunc(g.ownPorts(), func(p int) bool { return strconv.Itoa(p) == port })
	if own && g.isThisMachine(a.Unmap()) {
		return tool.Failf("%s port %s is cairn itself, which tools must not call.", host, port)
	}
	a = a.Unmap()
	why := g.refusalReason(a)
	switch {
	case why == "":
		return nil
	case !g.isLocalNetwork(a):
		return failRefused(host, a, why)
	}
	if allowed, _ := ctx.Value(allowedKey{}).([]netip.Addr); slices.Contains(allowed, a) {
		return nil
	}
	return &localAddressError{[]netip.Addr{a}, port, describeAddress(host, a, why), failRefused(host, a, why)}
}

// isLocalNetwork reports whether a person may allow the address: it is of this machine or of a private network, and no
// cloud serves its metadata there.
func (g *guard) isLocalNetwork(a netip.Addr) bool {
	isMetadata := a == netip.MustParseAddr("fd00:ec2::254") || a == netip.MustParseAddr("fd20:ce::254")
	return a.Zone() == "" && !isMetadata &&
		(a.IsLoopback() || a.IsPrivate() || netaddr.DescribeSpecial(a) == "" && slices.Contains(g.ownAddresses(), a))
}

// isThisMachine reports whether a connection to the address ends here.
func (g *guard) isThisMachine(a netip.Addr) bool {
	return a.IsLoopback() || a.IsUnspecified() || slices.Contains(g.ownAddresses(), a.WithZone(""))
}

func failRefused(host string, a netip.Addr, why string) error {
	return tool.Failf(
		"%s: only public addresses are fetched. The user can allow it with webfetch.allow in the configuration.",
		describeAddress(host, a, why),
	)
}

func describeAddress(host string, a netip.Addr, why string) string {
	if host == a.String() {
		return host + " is " + why
	}
	return host + " is at " + a.String() + ", which is " + why
}

// refusalReason describes why an address must not be reached, "" if it may be.
func (g *guard) refusalReason(a netip.Addr) string {
	if a.Zone() != "" {
		return "a link-local address"
	}
	a = a.Unmap()
	if slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return ""
	}
	if why := netaddr.DescribeSpecial(a); why != "" {
		return why
	}
	if slices.Contains(g.ownAddresses(), a) {
		return "an address of this machine"
	}
	return ""
}
