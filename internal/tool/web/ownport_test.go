package web_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/web"
)

// TestOwnPortsAreRefused: no form of an address and no name leads to a port of this program, whatever is allowed.
func TestOwnPortsAreRefused(t *testing.T) {
	w := newWorld(t, page("other"))
	own := 0
	reached := func(rw http.ResponseWriter, r *http.Request) {
		own++
		page("secret")(rw, r)
	}
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(reached)}}
	server.Start()
	t.Cleanup(server.Close)
	port := listener.Addr().(*net.TCPAddr).Port
	w.config.Allow = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	w.config.OwnPorts = func() []int { return []int{port} }
	hosts := []string{
		"127.0.0.1", "127.0.0.2", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]",
		"[::ffff:0.0.0.0]", "localhost", "LOCALHOST.", "a.localhost", "named.example", "mixed.example", "any.example",
	}
	w.names["localhost"], w.names["LOCALHOST."] = []string{"127.0.0.1"}, []string{"127.0.0.1"}
	w.names["localhost."], w.names["a.localhost"] = []string{"127.0.0.1"}, []string{"::1"}
	w.names["named.example"], w.names["any.example"] = []string{"127.0.0.1"}, []string{"0.0.0.0"}
	w.names["mixed.example"] = []string{"::ffff:127.0.0.1"}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip := netip.MustParsePrefix(a.String()).Addr()
		if ip.Is4() {
			hosts = append(hosts, ip.String())
		} else {
			hosts = append(hosts, "["+ip.String()+"]")
		}
	}
	for _, host := range hosts {
		url := "http://" + host + ":" + strconv.Itoa(port) + "/file/content?path=server.secret"
		for _, from := range []string{url, w.at("redirecting.example", "/to/"+url)} {
			if s := w.fetch(from); strings.Contains(text(s), "secret\n") || own > 0 {
				t.Errorf("%s: %s, %d requests arrived", from, text(s), own)
			}
		}
		if s := w.fetch(url); !strings.Contains(text(s), "cairn itself") && !strings.Contains(text(s), "link-local") {
			t.Errorf("%s: %s, want the reason", host, text(s))
		}
	}
	if s := w.fetch(w.at("other.example", "/")); s.Error != nil {
		t.Errorf("another port of this machine that is allowed: %s", text(s))
	}
}

// TestFetchesAreMarked: every request says that a tool makes it, so that no server of cairn answers as to its user.
func TestFetchesAreMarked(t *testing.T) {
	var marks []string
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		marks = append(marks, r.Header.Get(tool.RequestHeader))
		page("x")(rw, r)
	}).open()
	if s := w.fetch(w.at("a.example", "/")); s.Error != nil {
		t.Fatal(text(s))
	}
	client := &http.Client{Transport: web.NewTransport(w.config.Allow)}
	res, err := client.Get(w.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if len(marks) != 2 || marks[0] == "" || marks[1] == "" {
		t.Errorf("marks of the requests: %q", marks)
	}
}
