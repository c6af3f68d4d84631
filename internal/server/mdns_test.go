package server

import (
	"testing"

	"github.com/miekg/dns"
)

func TestAnnounceable(t *testing.T) {
	for _, name := range []string{MDNSDomain, "a.local", "my-box.opencode.local", "A9.local"} {
		if err := checkMDNSName(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "local", ".local", "a.local.", "example.com", "a b.local", "a..local", "ä.local",
		"a.local:80", "a\n.local",
	} {
		if checkMDNSName(name) == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// What the network learns: the service by the kind that OpenCode's clients browse for, its port, and addresses at which
// it answers.
func TestZone(t *testing.T) {
	zone, err := newMDNSZone(MDNSDomain, "192.0.2.7", 4096)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, q := range []dns.Question{
		{Name: "_http._tcp.local.", Qtype: dns.TypePTR},
		{Name: "opencode-4096._http._tcp.local.", Qtype: dns.TypeSRV},
		{Name: "opencode.local.", Qtype: dns.TypeA},
	} {
		for _, rr := range zone.Records(q) {
			switch rr := rr.(type) {
			case *dns.PTR:
				found["names "+rr.Ptr] = true
			case *dns.SRV:
				found["serves "+rr.Target] = rr.Port == 4096
			case *dns.A:
				found["at "+rr.A.String()] = true
			case *dns.TXT:
				found["path"] = rr.Txt[0] == "path=/"
			}
		}
	}
	for _, want := range []string{
		"names opencode-4096._http._tcp.local.", "serves opencode.local.", "at 192.0.2.7",
		"path",
	} {
		if !found[want] {
			t.Errorf("%s is not said: %v", want, found)
		}
	}
	if other := zone.Records(dns.Question{Name: "printer.local.", Qtype: dns.TypeA}); len(other) != 0 {
		t.Errorf("it answers for others: %v", other)
	}
}

func TestAddressesOfAll(t *testing.T) {
	ips, err := reachableAddresses("0.0.0.0")
	if err != nil {
		t.Skip(err)
	}
	for _, ip := range ips {
		if ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() {
			t.Errorf("%s is nothing that others reach", ip)
		}
	}
}
