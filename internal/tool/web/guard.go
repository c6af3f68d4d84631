package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/tool"
)

// guard decides which addresses are reached, and reaches them.
type guard struct {
	allow        []netip.Prefix
	lookup       func(ctx context.Context, host string) ([]netip.Addr, error)
	ownAddresses func() []netip.Addr // the addresses of this machine
}

func newGuard(c Config) *guard {
	g := &guard{allow: c.Allow, lookup: c.Lookup, ownAddresses: listOwnAddresses}
	if g.lookup == nil {
		g.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return g
}

const connectTime = 10 * time.Second

// dial connects to the host of address: to one that it was resolved to here, and that is checked once more on the
// socket, when nothing can change it any more. A name with one address that is refused is refused as a whole: who
// controls it would choose the moment.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := g.resolve(ctx, host)
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

// resolve returns the addresses of the host, all of them checked.
func (g *guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = g.lookup(ctx, host); err != nil {
		return nil, tool.Failf("%s could not be resolved: %v.", host, describeDNSError(err))
	}
	if len(addrs) == 0 {
		return nil, tool.Failf("%s has no address.", host)
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap()
		if why := g.refusalReason(a); why != "" {
			return nil, failRefused(host, a, why)
		}
	}
	return addrs, nil
}

func describeDNSError(err error) error {
	if d, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(d.Err)
	}
	return err
}

// checkAddress checks the address that the socket is about to connect to.
func (g *guard) checkAddress(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if why := g.refusalReason(at.Addr()); why != "" {
		return failRefused(at.Addr().String(), at.Addr(), why)
	}
	return nil
}

func failRefused(host string, a netip.Addr, why string) error {
	at := ""
	if host != a.String() {
		at = " is at " + a.String() + ", which"
	}
	return tool.Failf(
		"%s%s is %s: only public addresses are fetched. The user can allow it with webfetch.allow in the configuration.",
		host, at, why,
	)
}

// refusalReason says what the address is that it is not reached, "" if it may be.
func (g *guard) refusalReason(a netip.Addr) string {
	if a.Zone() != "" {
		return "an address of a local link"
	}
	a = a.Unmap()
	if slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return ""
	}
	if why := specialPurpose(a); why != "" {
		return why
	}
	if slices.Contains(g.ownAddresses(), a) {
		return "an address of this machine"
	}
	return ""
}

// specialPurpose says what is special about an address that is not simply one of the public Internet.
func specialPurpose(a netip.Addr) string {
	switch {
	case !a.IsValid(), a.IsUnspecified():
		return "no address of anybody"
	case a.IsLoopback():
		return "this machine"
	case a.IsPrivate():
		return "a private address"
	case a.IsLinkLocalUnicast():
		return "an address of a local link, or where clouds keep their metadata"
	case a.IsMulticast():
		return "a multicast address"
	}
	for _, r := range reservedBlocks() {
		if r.prefix.Contains(a) {
			return r.why
		}
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return "no address of the public Internet"
	}
	return ""
}

type block struct {
	prefix netip.Prefix
	why    string
}

// reservedBlocks lists what is neither private by name nor public: the registries of special-purpose addresses (RFC 6890),
// and where a cloud serves its machines. Addresses that carry others within them are refused whatever they carry.
func reservedBlocks() []block {
	var blocks []block
	for _, r := range []struct{ prefixes, why string }{
		{"0.0.0.0/8", "no address of anybody"},
		{"100.64.0.0/10", "an address that a provider shares among its customers"},
		{"168.63.129.16/32", "where a cloud serves its machines"},
		{"192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 240.0.0.0/4", "a reserved address"},
		{"192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20", "an address for documentation"},
		{"64:ff9b::/96 64:ff9b:1::/48 2001::/23 2002::/16", "an address that stands for another one"},
	} {
		for _, p := range strings.Fields(r.prefixes) {
			blocks = append(blocks, block{netip.MustParsePrefix(p), r.why})
		}
	}
	return blocks
}

// listOwnAddresses are those of this machine, which answers on its public ones what it would answer on loopback.
func listOwnAddresses() []netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var own []netip.Addr
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap())
		}
	}
	return own
}
