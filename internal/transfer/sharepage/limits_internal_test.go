package sharepage

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestFindClient(t *testing.T) {
	for _, c := range []struct{ remote, forwarded, want string }{
		{"192.0.2.1:4000", "", "192.0.2.1"},
		{"192.0.2.1:4000", "198.51.100.9", "192.0.2.1"}, // not a proxy of this machine
		{"127.0.0.1:4000", "198.51.100.9", "198.51.100.9"},
		{"127.0.0.1:4000", "forged, 198.51.100.9", "198.51.100.9"},
		{"127.0.0.1:4000", "nonsense", "127.0.0.1"},
		{"[::1]:4000", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"[2001:db8:1:2::9]:4000", "", "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:4000", "", "192.0.2.1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := findClient(r); got != c.want {
			t.Errorf("%s for %q: %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limits
		enter := func(client string) (func(), bool) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = client + ":1"
			return l.enter(r)
		}
		// One reader has so many pages at once, and others still get theirs.
		var open []func()
		for range maxClientPages {
			leave, ok := enter("192.0.2.1")
			if !ok {
				t.Fatal("refused too early")
			}
			open = append(open, leave)
		}
		if _, ok := enter("192.0.2.1"); ok {
			t.Error("one page too many")
		}
		if leave, ok := enter("192.0.2.2"); !ok {
			t.Error("another reader is refused")
		} else {
			leave()
		}
		for _, leave := range open {
			leave()
		}
		// One reader has so many requests in a minute.
		for range maxClientStarts - maxClientPages {
			leave, ok := enter("192.0.2.1")
			if !ok {
				t.Fatal("refused too early")
			}
			leave()
		}
		if _, ok := enter("192.0.2.1"); ok {
			t.Error("one request too many")
		}
		time.Sleep(time.Minute)
		if leave, ok := enter("192.0.2.1"); !ok {
			t.Error("refused for ever")
		} else {
			leave()
		}
		if l.open != 0 || len(l.pages) != 0 {
			t.Errorf("%d open, %v", l.open, l.pages)
		}
		// All readers together have so many pages.
		for i := range maxPages {
			if _, ok := enter(fmt.Sprintf("198.51.100.%d", i/maxClientPages)); !ok {
				t.Fatal("refused too early")
			}
		}
		if _, ok := enter("203.0.113.1"); ok {
			t.Error("one page too many in all")
		}
	})
}
