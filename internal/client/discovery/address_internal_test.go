package discovery

import "testing"

func TestIsSameAddress(t *testing.T) {
	for _, c := range []struct {
		announced, address string
		want               bool
	}{
		{"http://127.0.0.1:4096", "http://127.0.0.1:4096", true},
		{"http://127.0.0.1:4096", "http://localhost:4096", true},
		{"http://localhost:4096", "http://[::1]:4096", true},
		{"http://127.0.0.1:4096", "http://127.0.0.1:4097", false},
		{"http://127.0.0.1:4096", "http://127.0.0.2:4096", false},
		{"http://127.0.0.1:4096", "https://127.0.0.1:4096", false},
		{"http://127.0.0.1:4096", "http://example.org:4096", false},
		{"http://127.0.0.1:4096", "http://localhost:4096/proxy", false},
		{"", "http://localhost", false},
	} {
		if got := isSameAddress(c.announced, c.address); got != c.want {
			t.Errorf("%s is announced, and %s is the same: %v", c.announced, c.address, got)
		}
	}
}
