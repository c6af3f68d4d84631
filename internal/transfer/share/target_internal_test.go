package share

import "testing"

// The address of a share is on its server, or on a subdomain.
func TestCheckURL(t *testing.T) {
	for _, c := range []struct {
		target, url string
		want        bool
	}{
		{"https://opncd.ai", "https://opncd.ai/share/x", true},
		{"https://opncd.ai", "https://OPNCD.ai/share/x", true},
		{"https://opncd.ai/base", "https://opncd.ai:8443/share/x", true},
		{"https://opncd.ai", "https://pages.opncd.ai/share/x", true},
		{"https://opncd.ai", "http://opncd.ai/share/x", false},
		{"https://opncd.ai", "https://evil.example/share/x", false},
		{"https://opncd.ai", "https://opncd.ai.evil.example/share/x", false},
		{"https://opncd.ai", "https://evilopncd.ai/share/x", false},
		{"https://api.opncd.ai", "https://opncd.ai/share/x", false},
		{"http://127.0.0.1:9", "http://127.0.0.1:9/share/x", true},
		{"http://127.0.0.1:9", "http://x.127.0.0.1/share/x", false},
		{"http://localhost:9", "https://localhost/share/x", true},
		{"http://[::1]:9", "http://[::1]:9/share/x", true},
	} {
		if err := (target{address: c.target}).checkURL(c.url); (err == nil) != c.want {
			t.Errorf("%s of %s: %v", c.url, c.target, err)
		}
	}
}
