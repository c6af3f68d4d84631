package web

import (
	"context"
	"net/netip"
	"strings"
	"testing"
)

// Each check alone refuses: that of names, that of the socket, and that of this machine's addresses.
func TestEachCheckAlone(t *testing.T) {
	const public = "93.184.215.14"
	names := map[string][]string{
		"mixed": {public, "10.0.0.1"}, "private": {"::ffff:10.0.0.1"}, "public": {public}, "own": {"93.184.215.15"},
	}
	g := newGuard(Config{Lookup: func(_ context.Context, host string) (out []netip.Addr, _ error) {
		for _, a := range names[host] {
			out = append(out, netip.MustParseAddr(a))
		}
		return out, nil
	}})
	g.ownAddresses = func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("93.184.215.15")} }
	for host, refused := range map[string]bool{
		"mixed": true, "private": true, "public": false, "own": true, "none": true, "127.0.0.1": true, public: false,
	} {
		if addrs, err := g.resolve(t.Context(), host, "80"); (err != nil) != refused {
			t.Errorf("%s: %v, %v", host, addrs, err)
		}
	}
	for address, refused := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:10.0.0.1]:80": true, "[fe80::1%eth0]:80": true,
		"93.184.215.15:80": true, "what:80": true, public + ":80": false,
	} {
		if err := g.checkAddress(t.Context(), "tcp", address, nil); (err != nil) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
	g.allow = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for address, want := range map[string]string{
		"10.0.0.1": "", "::ffff:10.0.0.1": "", "10.0.0.1%x": "link-local", "127.0.0.1": "this machine",
	} {
		a, err := netip.ParseAddr(address)
		if err != nil {
			continue
		}
		if got := g.refusalReason(a); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
