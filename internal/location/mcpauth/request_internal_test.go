package mcpauth

import (
	"net/netip"
	"net/url"
	"testing"
)

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct{ public, private bool }{
		"93.184.215.14:443":          {true, true},
		"127.0.0.1:80":               {false, true},
		"[::1]:80":                   {false, true},
		"10.0.0.1:443":               {false, true},
		"[::ffff:10.0.0.1]:443":      {false, true},
		"169.254.169.254:80":         {false, false},
		"0.0.0.0:80":                 {false, false},
		"198.18.0.1:80":              {false, false},
		"[64:ff9b::a00:1]:443":       {false, false},
		"100.64.0.1:443":             {false, false},
		"[fe80::1]:443":              {false, false},
		"not an address":             {false, false},
		"[2606:2800:220:1::1]:44300": {true, true},
	} {
		if got := checkAddress(address, false) == nil; got != want.public {
			t.Errorf("%s for a public server: %v", address, got)
		}
		if got := checkAddress(address, true) == nil; got != want.private {
			t.Errorf("%s for a private server: %v", address, got)
		}
	}
}

// One public address makes a server public: the owner of its name chooses the others.
func TestPrivateServers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		addrs []string
		want  bool
	}{
		{nil, false},
		{[]string{"127.0.0.1", "::1"}, true},
		{[]string{"10.0.0.1"}, true},
		{[]string{"93.184.215.14", "10.0.0.1"}, false},
		{[]string{"169.254.169.254"}, false},
	} {
		var addrs []netip.Addr
		for _, a := range test.addrs {
			addrs = append(addrs, netip.MustParseAddr(a))
		}
		if got := arePrivate(addrs); got != test.want {
			t.Errorf("%v: %v", test.addrs, got)
		}
	}
}

func TestCheckScheme(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://example.com": true, "http://example.com": false, "http://10.0.0.1": false, "ftp://127.0.0.1": false,
		"http://127.0.0.1:1": true, "http://[::1]": true, "http://localhost:8080": true, "http://localhost.example.com": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := checkScheme(u) == nil; got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
