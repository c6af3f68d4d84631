package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
)

func TestAddressOf(t *testing.T) {
	yes, no, port, any := true, false, 7000, 0
	for name, c := range map[string]struct {
		o    client.ServeOptions
		c    config.Server
		want listenAddress
	}{
		"nothing said": {want: listenAddress{hostname: "127.0.0.1"}},
		"configured": {
			c:    config.Server{Hostname: "::1", Port: 80, Cors: []string{"https://a"}},
			want: listenAddress{hostname: "::1", port: 80, origins: []string{"https://a"}},
		},
		"flags first": {
			o: client.ServeOptions{Hostname: "10.0.0.1", Port: &port},
			c: config.Server{Hostname: "::1", Port: 80}, want: listenAddress{hostname: "10.0.0.1", port: 7000},
		},
		"a port of 0 is said": {
			o: client.ServeOptions{Port: &any}, c: config.Server{Port: 80},
			want: listenAddress{hostname: "127.0.0.1"},
		},
		"pages of both": {
			o:    client.ServeOptions{Origins: []string{"https://b"}},
			c:    config.Server{Cors: []string{"https://a"}},
			want: listenAddress{hostname: "127.0.0.1", origins: []string{"https://a", "https://b"}},
		},
		"found": {
			o:    client.ServeOptions{MDNS: &yes},
			want: listenAddress{hostname: "0.0.0.0", mdns: "opencode.local"},
		},
		"found as configured": {
			c:    config.Server{MDNS: true, MDNSDomain: "me.local"},
			want: listenAddress{hostname: "0.0.0.0", mdns: "me.local"},
		},
		"not found after all": {
			o: client.ServeOptions{MDNS: &no}, c: config.Server{MDNS: true},
			want: listenAddress{hostname: "127.0.0.1"},
		},
		"by another name": {
			o: client.ServeOptions{MDNSDomain: "you.local"},
			c: config.Server{MDNS: true, MDNSDomain: "me.local"}, want: listenAddress{hostname: "0.0.0.0", mdns: "you.local"},
		},
		"found at an address": {
			o: client.ServeOptions{MDNS: &yes}, c: config.Server{Hostname: "10.0.0.1"},
			want: listenAddress{hostname: "10.0.0.1", mdns: "opencode.local"},
		},
		"loopback only": {
			o: client.ServeOptions{MDNS: &yes, Hostname: "localhost"},
			want: listenAddress{
				hostname: "localhost",
				note:     "not announced in the local network: only this machine can reach localhost",
			},
		},
		"a name without the wish": {
			o:    client.ServeOptions{MDNSDomain: "you.local"},
			want: listenAddress{hostname: "127.0.0.1"},
		},
	} {
		if diff := cmp.Diff(&c.want, resolveAddress(c.o, c.c), cmp.AllowUnexported(listenAddress{})); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestLogging(t *testing.T) {
	said := func(level string) func(string) string {
		return func(name string) string {
			return map[string]string{"CAIRN_LOG": level, "HOME": "x"}[name]
		}
	}
	for _, c := range []struct{ env, configured, want string }{
		{"", "", ""}, {"", "INFO", "INFO"}, {"debug", "INFO", "debug"},
	} {
		env := withLogLevel(said(c.env), c.configured)
		if got := env("CAIRN_LOG"); got != c.want || env("HOME") != "x" {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
