// Package netaddr says which network addresses are public.
package netaddr

import (
	"net"
	"net/netip"
	"strings"
)

// DescribeSpecial describes an address that is not public, "" for a public one.
func DescribeSpecial(a netip.Addr) string {
	switch {
	case !a.IsValid(), a.IsUnspecified():
		return "an unspecified address"
	case a.IsLoopback():
		return "this machine"
	case a.IsPrivate():
		return "a private address"
	case a.IsLinkLocalUnicast():
		return "a link-local address, which clouds use for metadata"
	case a.IsMulticast():
		return "a multicast address"
	}
	for _, r := range reservedBlocks() {
		if r.prefix.Contains(a) {
			return r.why
		}
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return "an address outside of the public Internet"
	}
	return ""
}

type block struct {
	prefix netip.Prefix
	why    string
}

// reservedBlocks returns the special-purpose blocks (RFC 6890) that netip does not classify, and addresses of cloud
// services. Addresses that embed an IPv4 address are refused whatever it is.
func reservedBlocks() []block {
	var blocks []block
	for _, r := range []struct{ prefixes, why string }{
		{"0.0.0.0/8", "an unspecified address"},
		{"100.64.0.0/10", "an address that a provider shares among its customers"},
		{"168.63.129.16/32", "an address of a cloud's internal services"},
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

// ListOwn returns the addresses of this machine: on its public addresses it answers as on loopback.
func ListOwn() []netip.Addr {
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
