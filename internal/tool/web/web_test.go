package web_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/web"
)

// world is a network with one server and a resolver of its own.
type world struct {
	t      testing.TB
	server *httptest.Server
	config web.Config
	rules  []session.Rule

	mu    sync.Mutex // guards the fields below
	names map[string][]string
	hits  []string // host and path of each request
	asked []tool.Request
}

func newWorld(t testing.TB, h http.HandlerFunc) *world {
	w := &world{
		t: t, names: map[string][]string{}, rules: []session.Rule{
			{Action: "*", Resource: "*", Effect: session.Allow},
			{Action: web.ActionLocalAddress, Resource: "*", Effect: session.Deny},
		},
	}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.hits = append(w.hits, r.Host+r.URL.Path)
		w.mu.Unlock()
		h(rw, r)
	}))
	t.Cleanup(w.server.Close)
	w.config = web.Config{Lookup: w.lookup}
	return w
}

// open allows the server's address, so that other properties can be tested.
func (w *world) open() *world {
	w.config.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	return w
}

func (w *world) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []netip.Addr
	for _, a := range w.names[host] {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return out, nil
}

// at returns a URL of the server under a name.
func (w *world) at(host, path string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.names[host] == nil {
		w.names[host] = []string{"127.0.0.1"}
	}
	_, port, _ := net.SplitHostPort(w.server.Listener.Addr().String())
	return "http://" + host + ":" + port + path
}

func (w *world) run(name string, input any) tool.Settlement {
	w.t.Helper()
	return w.runFor(w.t.Context(), name, input)
}

func (w *world) runFor(ctx context.Context, name string, input any) tool.Settlement {
	w.t.Helper()
	r := tool.NewRegistry(tool.Config{Limits: tool.Limits{Bytes: 8 << 20, Lines: 1 << 20}})
	if _, err := r.Register(web.New(w.config)...); err != nil {
		w.t.Fatal(err)
	}
	return r.TakeSnapshot(nil).Settle(ctx, tool.Call{Name: name, Input: tool.EncodeObject(input), Ask: w.ask})
}

func (w *world) ask(_ context.Context, r tool.Request) error {
	w.mu.Lock()
	w.asked = append(w.asked, r)
	w.mu.Unlock()
	d := permission.EvaluateAll(
		[]permission.Layer{{Rules: w.rules}}, nil, permission.Subject{Action: r.Action, Resources: r.Resources},
	)
	if d.Effect != session.Allow {
		return &tool.Denial{Action: r.Action, Resources: r.Resources, Rule: d.Rule}
	}
	return nil
}

func (w *world) fetch(url string) tool.Settlement {
	w.t.Helper()
	return w.run("webfetch", map[string]any{"url": url})
}

// text returns a result without the tags around text from outside.
func text(s tool.Settlement) string {
	return untrustedTag.ReplaceAllString(rawText(s), "")
}

var untrustedTag = regexp.MustCompile(`^<untrusted-content id="[a-z2-7]{16}" source="[^"<>]*">\n` +
	`|\n</untrusted-content id="[a-z2-7]{16}">$`)

func rawText(s tool.Settlement) string {
	if s.Error != nil {
		return "ERROR " + s.Error.Message
	}
	var parts []string
	for _, c := range s.Output.Content {
		parts = append(parts, c.Text+c.Mime)
	}
	return strings.Join(parts, "|")
}

func page(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(body))
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	forms := []string{
		// this machine, in every notation
		"http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/",
		"http://0x7f.0.0.1/",
		"http://0177.0.0.1/", "http://017700000001/", "http://127.000.000.001/", "http://127.0.0.1./", "http://localhost/",
		"http://LOCALHOST/",
		"http://localhost./", "http://api.localhost/", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::]/",
		"http://0.0.0.0/", "http://0/",
		"http://0x0/", "http://127.255.255.254/", "http://１２７.０.０.１/", "http://①②⑦.0.0.1/", "http://127。0。0。1/",
		"http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
		"http://%6c%6f%63%61%6c%68%6f%73%74/",
		// this machine, embedded in other addresses
		"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/",
		"http://[64:ff9b::8.8.8.8]/",
		"http://[64:ff9b:1::1]/", "http://[2002:7f00:1::]/", "http://[2001:0:7f00:1::]/",
		// networks that are not public
		"http://10.0.0.1/", "http://10.1/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.0.1/",
		"http://0300.0250.0.1/", "http://3232235521/",
		"http://100.64.0.1/", "http://100.127.255.255/", "http://169.254.1.1/", "http://[fe80::1]/",
		"http://[fe80::1%25eth0]/", "http://[fc00::1]/", "http://[fd12::1]/",
		"http://[fec0::1]/", "http://224.0.0.1/", "http://239.255.255.250/", "http://[ff02::1]/", "http://255.255.255.255/",
		"http://240.0.0.1/", "http://192.0.0.1/",
		"http://198.18.0.1/", "http://192.0.2.1/", "http://203.0.113.1/", "http://[2001:db8::1]/",
		// cloud metadata
		"http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://[::ffff:a9fe:a9fe]/",
		"http://[fd00:ec2::254]/",
		"http://100.100.100.200/", "http://168.63.129.16/", "http://192.0.0.192/",
		// not the address of a page
		"file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "data:text/html,x", "javascript:alert(1)",
		"unix:///run/x.sock", "//example.com/",
		"example.com", "", "http://", "http:///x", "http://user:pw@example.com/", "http://user@example.com/",
		"http://example.com@127.0.0.1/", "http://127.0.0.1:80@example.com/",
		"http://1.2.3.4.5/", "http://256.1.1.1/", "http://08.1.1.1/", "http://exa mple.com/", "http://example..com/",
		"http://example.com:0/", "http://example.com:99999/", "http://a/\x00",
		"http://[::1", "http://]/",
	}
	w := newWorld(t, page("secret"))
	for _, f := range forms {
		s := w.fetch(f)
		if s.Error == nil || len(w.hits) > 0 || len(w.asked) != 0 && !isLocalAsk(w.asked) &&
			!strings.Contains(s.Error.Message, "localhost") {
			t.Errorf("%q: %s, asked %v", f, text(s), w.asked)
		}
		w.asked = nil
	}
	if len(w.hits) != 0 {
		t.Errorf("the server was reached: %v", w.hits)
	}
}

// isLocalAsk reports whether the last request is for an address that a person may allow, and for that alone.
func isLocalAsk(asked []tool.Request) bool {
	last := asked[len(asked)-1]
	return last.Action == web.ActionLocalAddress && !slices.ContainsFunc(last.Resources, func(r string) bool {
		a := netip.MustParseAddrPort(r).Addr()
		return !a.IsLoopback() && !a.IsPrivate() || a == netip.MustParseAddr("fd00:ec2::254")
	})
}

// An address of this machine or of a private network is reached when the user allows that address at that port; a name
// that stands for another one afterwards is not.
func TestLocalAddressesAsk(t *testing.T) {
	w := newWorld(t, page("local"))
	w.rules = append(w.rules[:1:1], session.Rule{Action: web.ActionLocalAddress, Resource: "*", Effect: session.Allow})
	for _, host := range []string{"127.0.0.1", "inside.example"} {
		w.asked = nil
		if s := w.fetch(w.at(host, "/")); s.Error != nil || text(s) != "local" || len(w.asked) != 2 {
			t.Fatal(text(s), w.asked)
		}
		last := w.asked[1]
		if want := w.server.Listener.Addr().String(); last.Resources[0] != want || last.Save[0] != want {
			t.Errorf("%+v, want %s", last, want)
		}
	}
	url, looks := w.at("moving.example", "/"), 0
	w.config.Lookup = func(context.Context, string) ([]netip.Addr, error) {
		looks++
		if looks == 1 {
			return []netip.Addr{netip.MustParseAddr("10.1.2.3")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	before := len(w.hits)
	if s := w.fetch(url); s.Error == nil || len(w.hits) > before {
		t.Error(text(s))
	}
}

func TestNamesWithPrivateAddresses(t *testing.T) {
	for _, addr := range []string{
		"127.0.0.1", "10.1.2.3", "192.168.1.1", "169.254.169.254", "100.64.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::a00:1",
		"fe80::1", "fd00:ec2::254", "0.0.0.0", "::",
	} {
		w := newWorld(t, page("secret"))
		url := w.at("inside.example", "/")
		for _, addrs := range [][]string{{addr}, {"93.184.215.14", addr}} { // one refused address refuses the name
			w.names["inside.example"] = addrs
			w.asked = nil
			s := w.fetch(url)
			if s.Error == nil || !isLocalAsk(w.asked) && !strings.Contains(s.Error.Message, "only public addresses") {
				t.Errorf("%v: %s", addrs, text(s))
			}
		}
		if len(w.hits) != 0 {
			t.Errorf("%s: reached %v", addr, w.hits)
		}
	}
}

// A name that is public when it is resolved and private when the connection is made is not reached: the connection uses
// its own resolution.
func TestRebinding(t *testing.T) {
	w := newWorld(t, page("secret"))
	url := w.at("rebind.example", "/")
	looks := 0
	w.config.Lookup = func(context.Context, string) ([]netip.Addr, error) {
		looks++
		if looks == 1 {
			return nil, errors.New("try again") // a resolution without effect
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	for range 3 {
		if s := w.fetch(url); s.Error == nil {
			t.Error(text(s))
		}
	}
	if len(w.hits) != 0 {
		t.Errorf("reached %v", w.hits)
	}
}

func TestOwnAddressesAreRefused(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, page("secret"))
	for _, a := range addrs {
		ip := netip.MustParsePrefix(a.String()).Addr()
		host := ip.String()
		if ip.Is6() {
			host = "[" + host + "]"
		}
		if s := w.fetch("http://" + host + "/"); s.Error == nil {
			t.Errorf("%s: %s", host, text(s))
		}
	}
}

func TestRedirects(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case p == "/end":
			page("<p>arrived</p>")(rw, r)
		case p == "/loop":
			http.Redirect(rw, r, "/loop", http.StatusFound)
		case p == "/nowhere":
			rw.WriteHeader(http.StatusFound)
		case strings.HasPrefix(p, "/to/"):
			rw.Header().Set("Location", strings.TrimPrefix(r.URL.RequestURI(), "/to/"))
			rw.WriteHeader(http.StatusTemporaryRedirect)
		}
	}).open()
	here := w.at("a.example", "")
	for _, tt := range []struct{ to, want string }{
		{"/end", "arrived"},
		{here + "/end", "arrived"},
		{"/to//end", "arrived"},
		{w.at("b.example", "/end"), "is elsewhere"},
		{"https://a.example/end", "is elsewhere"}, // another port is another server
		{"http://169.254.169.254/latest/", "ERROR 169.254.169.254 is"},
		{"http://[::1]/", "is elsewhere"},
		{"file:///etc/passwd", "ERROR The URL must begin"},
		{"http://u:p@a.example/", "ERROR The URL contains"},
		{"http://0xa9fea9fe/", "ERROR 169.254.169.254 is"},
		{"gopher://a.example/", "ERROR The URL must begin"},
	} {
		s := w.fetch(here + "/to/" + tt.to)
		if !strings.Contains(text(s), tt.want) {
			t.Errorf("%s: %s, want %s", tt.to, text(s), tt.want)
		}
	}
	for path, want := range map[string]string{
		"/loop": "redirects more than 5 times", "/nowhere": "redirects without a valid Location",
	} {
		if s := w.fetch(here + path); !strings.Contains(text(s), want) {
			t.Errorf("%s: %s", path, text(s))
		}
	}
	if slices.ContainsFunc(w.hits, func(h string) bool { return strings.HasPrefix(h, "b.example") }) {
		t.Error("another host was reached without anybody having been asked")
	}
}

// A redirect within the host resolves and checks the name again.
func TestRedirectResolvesAgain(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "/next", http.StatusFound)
	})
	url := w.at("moving.example", "/")
	w.config.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	looks := 0
	w.config.Lookup = func(context.Context, string) ([]netip.Addr, error) {
		looks++
		return []netip.Addr{netip.MustParseAddr(map[bool]string{true: "127.0.0.1", false: "10.0.0.1"}[looks == 1])}, nil
	}
	if s := w.fetch(url); s.Error == nil || !strings.Contains(s.Error.Message, "10.0.0.1") || len(w.hits) != 1 {
		t.Errorf("%s, reached %v", text(s), w.hits)
	}
}

func TestPermissionRequests(t *testing.T) {
	w := newWorld(t, page("<p>hello</p>")).open()
	url := w.at("docs.example", "/a?b=c")
	if s := w.fetch(strings.Replace(url, "docs.example", "DOCS.Example", 1) + "#part"); s.Error != nil {
		t.Fatal(text(s))
	}
	if r := w.asked[0]; r.Action != "webfetch" || !slices.Equal(r.Resources, []string{url}) ||
		!slices.Equal(r.Save, []string{strings.TrimSuffix(url, "a?b=c") + "*"}) {
		t.Errorf("asked %+v", r)
	}
	w.rules = append(w.rules, session.Rule{Action: "webfetch", Resource: "http://docs.example*", Effect: session.Deny})
	before := len(w.hits)
	for _, u := range []string{
		url, strings.ToUpper(url[:20]) + url[20:], strings.Replace(url, "docs.example", "docs%2eexample", 1),
		strings.Replace(url, "docs.", "ｄocs。", 1),
	} {
		if s := w.fetch(u); s.Denial == nil && s.Error == nil {
			t.Errorf("%s: %s", u, text(s))
		}
	}
	if len(w.hits) != before {
		t.Error("a denied page was fetched")
	}
}

// The reply "always" allows the host, port and scheme that were shown, including the first page.
func TestAlwaysCoversHost(t *testing.T) {
	w := newWorld(t, page("<p>hello</p>")).open()
	w.rules = nil // no request is sent
	for url, want := range map[string]string{
		"https://docs.example":              "https://docs.example/*",
		"http://DOCS.example:8080/a/../b?c": "http://docs.example:8080/*",
		"https://docs.example/?u=https://x": "https://docs.example/*",
		"https://[2606:4700::1111]/a":       "https://[2606:4700::1111]/*",
	} {
		w.asked = nil
		w.fetch(url)
		if len(w.asked) != 1 || !slices.Equal(w.asked[0].Save, []string{want}) {
			t.Errorf("%s asked %+v", url, w.asked)
			continue
		}
		saved := []session.Rule{{Action: "webfetch", Resource: want, Effect: session.Allow}}
		for resource, covered := range map[string]session.Effect{
			w.asked[0].Resources[0]: session.Allow, want[:len(want)-1] + "other": session.Allow,
			strings.TrimSuffix(want, "/*") + ".evil.example/": session.Ask,
			"https://evil.example/?" + want:                   session.Ask,
		} {
			if d := permission.Evaluate(nil, saved, "webfetch", resource); d.Effect != covered {
				t.Errorf("%s is %s by %s", resource, d.Effect, want)
			}
		}
	}
}
