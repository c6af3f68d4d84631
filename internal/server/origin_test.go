package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/server"
	"github.com/cairn-dev/cairn/internal/server/operation"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
)

// Only the exact names of this server are served, whatever else is right about a request. A name of the server has any
// port, as a proxy or a tunnel has it.
func TestHosts(t *testing.T) {
	h := start(t, server.Config{})
	_, port, _ := strings.Cut(h.host, ":")
	raw := func(host string) string {
		return h.rawAnswer(
			t,
			"GET /api/health HTTP/1.1\r\nHost: "+host+"\r\nAuthorization: Bearer "+secret+"\r\nConnection: close\r\n\r\n",
		)
	}
	for _, good := range []string{
		"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port,
		"127.0.0.1", "localhost", "[::1]", "127.0.0.1:1", "localhost:80", "[::1]:65535",
	} {
		if got := raw(good); !strings.Contains(got, "200") {
			t.Errorf("%s: %s", good, got)
		}
	}
	for _, bad := range []string{
		"", " ", "evil.example", "evil.example:" + port, "127.0.0.1:", "localhost:", "127.0.0.1:0", "localhost:65536",
		"localhost:-1", "localhost:+80", "localhost:http", "localhost:80:80", "::1", "[::1", "[::1]1",
		"localhost80", "LOCALHOST:" + port, "LocalHost:" + port,
		"localhost.:" + port, "127.0.0.1.:" + port, "127.1:" + port, "127.0.0.2:" + port, "0.0.0.0:" + port,
		"2130706433:" + port, "0x7f000001:" + port,
		"0177.0.0.1:" + port, "[::ffff:127.0.0.1]:" + port, "[::]:" + port, "::1:" + port, "[0:0:0:0:0:0:0:1]:" + port,
		"[::1%lo]:" + port, "localhost.evil.example:" + port,
		"evil-localhost:" + port, "127.0.0.1.evil.example:" + port, "127.0.0.1.nip.io:" + port,
		"user@127.0.0.1:" + port, "127.0.0.1:" + port + "@evil.example",
		"127.0.0.1:" + port + "/x", "127.0.0.1:" + port + "?x", "127.0.0.1:" + port + "#x", "127.0.0.1:0" + port,
		"127.0.0.1:" + port + "000", "127.0.0.1: " + port, "[127.0.0.1]:" + port, "[localhost]:" + port,
		"localhost:" + port + ",evil.example", "cairn.internal", "cairn.internal:443", "cairn.internal:8443",
		"CAIRN.internal:8443",
		"x.cairn.internal:8443", "cairn", "localhost\t:" + port,
	} {
		if got := raw(bad); !strings.Contains(got, " 403 ") && !strings.Contains(got, " 400 ") {
			t.Errorf("%q: %s", bad, got)
		}
	}
	for name, request := range map[string]string{
		"no host": "GET /api/health HTTP/1.1\r\nAuthorization: Bearer " + secret +
			"\r\nConnection: close\r\n\r\n",
		"two hosts": "GET /api/health HTTP/1.1\r\nHost: " + h.host +
			"\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
		"absolute": "GET http://evil.example/api/health HTTP/1.1\r\nHost: " + h.host +
			"\r\nConnection: close\r\n\r\n",
		"absolute ours": "GET http://" + h.host +
			"/api/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
		"http 1.0": "GET /api/health HTTP/1.0\r\n\r\n",
	} {
		if got := h.rawAnswer(t, request); !strings.Contains(got, " 403 ") && !strings.Contains(got, " 400 ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The name under which the network finds a server is one of its own.
func TestAnnouncedHost(t *testing.T) {
	h := start(t, server.Config{Hostname: "0.0.0.0", Password: "a password of the test", MDNS: "cairn-test.local"})
	_, port, _ := strings.Cut(h.host, ":")
	for host, want := range map[string]string{
		"cairn-test.local:" + port: " 200 ", "cairn-test.local:1": " 200 ",
		"opencode.local:" + port: " 403 ", "cairn-test.local.evil.example:" + port: " 403 ",
	} {
		got := h.rawAnswer(
			t,
			"GET /api/health HTTP/1.1\r\nHost: "+host+"\r\nAuthorization: Bearer "+secret+"\r\nConnection: close\r\n\r\n",
		)
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", host, got)
		}
	}
}

// The port of a Host does not change who is served.
func TestHostOriginPeer(t *testing.T) {
	h := start(t, server.Config{Hostname: "0.0.0.0", Password: "pw"})
	open := start(t, server.Config{})
	_, port, _ := strings.Cut(h.host, ":")
	for host, known := range map[string]bool{
		"localhost:" + port: true, "localhost:5000": true, "localhost": true, "127.0.0.1:5000": true,
		"[::1]:5000":           true,
		"evil.example:" + port: false, "evil.example:5000": false, "127.0.0.2:5000": false,
		"localhost.evil.example:5000": false,
	} {
		for origin, same := range map[string]bool{
			"": true, "http://" + host: true,
			"http://localhost:9999": false, "https://" + host: false, "http://" + host + "0": false,
			"http://evil.example": false, "null": false, "http://" + host + "/": false,
		} {
			for peer, served := range map[string]string{"bearer": " 200 ", "no credentials": " 401 ", "own process": " 200 "} {
				head, to := "GET /api/session HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n", h
				switch peer {
				case "bearer":
					head += "Authorization: Bearer " + secret + "\r\n"
				case "own process":
					to = open
				}
				if origin != "" {
					head += "Origin: " + origin + "\r\n"
				}
				want := served
				switch {
				case !known || !same:
					want = " 403 "
				case peer == "own process" && origin != "": // a browser's, which any page may have sent
					want = " 401 "
				}
				if got := to.rawAnswer(t, head+"\r\n"); !strings.Contains(got, want) {
					t.Errorf("%s from %q by %s: %q, want%s", host, origin, peer, got, want)
				}
			}
		}
	}
}

// Over the socket there are no pages, but those that are listed: a browser does not reach it, and what does for one
// must say so.
func TestNoPageOfTheSocket(t *testing.T) {
	h := start(t, server.Config{})
	for _, host := range []string{"localhost", "localhost:5000", "cairn"} {
		c, err := net.Dial("unix", h.socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _,
			err := fmt.Fprintf(c,
			"GET /api/session HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nConnection: close\r\n\r\n", host,
			host); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 403 ") {
			t.Errorf("%s: %v %.100s", host, err, answer)
		}
	}
}

// Nothing is announced that only this machine reaches, or under a name that is not of the local network.
func TestNotAnnounced(t *testing.T) {
	for why, c := range map[string]server.Config{
		"no other machine reaches 127.0.0.1": {TCP: true, MDNS: server.MDNSDomain},
		"no other machine reaches 0.0.0.0":   {Socket: "s", Hostname: "0.0.0.0", MDNS: server.MDNSDomain},
		"is not below .local":                {TCP: true, Hostname: "0.0.0.0", Password: "p", MDNS: "example.com"},
	} {
		c.Secret = secret
		if _, err := server.New(c); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// Pages may call from listed origins only, compared exactly, with any method and whatever credentials.
func TestOrigins(t *testing.T) {
	h := start(t, server.Config{Origins: []string{"https://app.example.com", "tauri://localhost"}})
	_, port, _ := strings.Cut(h.host, ":")
	bad := []string{
		"null", "", "http://localhost:9999", "http://localhost", "http://127.0.0.1", "https://x.evil",
		"https://evil.example", "https://app.example.com.evil", "https://app.example.co",
		"https://APP.example.com", "http://app.example.com", "https://app.example.com:443", "https://app.example.com/",
		"https://x.app.example.com", "app.example.com",
		"tauri://localhost:1", "http://tauri.localhost", "https://app.example.com https://evil.example",
		"https://evil.example, https://app.example.com", "file://", "http://[::1]", "chrome-extension://abc",
		"https://" + h.host, "http://127.0.0.1:" + port + "0", "http://localhost:" + port + ".evil.example",
		"http://evil.example:" + port, "http://0.0.0.0:" + port, "http://127.0.0.2:" + port, "*",
		"https://app.example.com\x00",
	}
	for _, origin := range bad {
		for _, route := range []string{"GET /api/session", "POST /api/session"} {
			method, path, _ := strings.Cut(route, " ")
			request := fmt.Sprintf(
				"%s %s HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
					"Content-Length: 2\r\nConnection: close\r\n\r\n{}",
				method,
				path,
				h.host,
				origin,
				secret,
			)
			if got := h.rawAnswer(t, request); !strings.Contains(got, " 403 ") && !strings.Contains(got, " 400 ") {
				t.Errorf("%s from %q: %s", route, origin, got)
			}
		}
	}
	if _, body := h.ask(t, http.MethodGet, "/api/session", bearer); !strings.Contains(body, `"data":[]`) {
		t.Errorf("something was done all the same: %s", body)
	}
	for _, origin := range []string{
		"https://app.example.com", "tauri://localhost", "http://" + h.host,
		"http://localhost:" + port,
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			code, body := h.ask(t, method, "/api/session", func(r *http.Request) {
				bearer(r)
				r.Header.Set("Origin", origin)
				r.Header.Set("Sec-Fetch-Site", "cross-site")
			})
			if code != http.StatusOK {
				t.Errorf("%s from %s: %d %s", method, origin, code, body)
			}
		}
	}
}

// What a browser sends without naming its page is served only if it says that the user asked for it.
func TestSecFetchSite(t *testing.T) {
	h := start(t, server.Config{})
	for site, want := range map[string]int{
		"cross-site": 403, "same-site": 403, "anything": 403, "none": 200,
		"same-origin": 200,
	} {
		code, _ := h.ask(t, http.MethodGet, "/api/session", func(r *http.Request) {
			bearer(r)
			r.Header.Set("Sec-Fetch-Site", site)
		})
		if code != want {
			t.Errorf("%s: %d, want %d", site, code, want)
		}
	}
}

func TestPreflights(t *testing.T) {
	h := start(t, server.Config{Origins: []string{"https://app.example.com"}})
	ask := func(origin string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, h.url+"/api/session", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", "POST")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp
	}
	// No web page can have the origins of OpenCode's desktop application.
	for _, origin := range []string{"https://app.example.com", "oc://renderer", "tauri://localhost"} {
		if resp := ask(origin); resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("%s: %d %v", origin, resp.StatusCode, resp.Header)
		}
	}
	for _, origin := range []string{"https://evil.example", "oc://evil", "http://tauri.localhost", "oc://renderer:1"} {
		if resp := ask(origin); resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", origin, resp.StatusCode, resp.Header)
		}
	}
}

// The requests that a page of another site can make a browser send without asking: none does anything.
func TestForgedRequests(t *testing.T) {
	h := start(t, server.Config{OpenLocal: true}) // even when everybody local is trusted
	types := []string{
		"",
		"text/plain",
		"application/x-www-form-urlencoded",
		"multipart/form-data; boundary=x",
		"text/plain; charset=application/json",
		"application/json, text/plain",
		"text/json",
		"application/jsonx",
	}
	for _, r := range v2.ListOperations() {
		if r.Method == http.MethodGet {
			continue
		}
		for _, kind := range types {
			req := fmt.Sprintf(
				"%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\nConnection: close\r\n",
				r.Method,
				target(r),
				h.host,
			)
			if kind != "" {
				req += "Content-Type: " + kind + "\r\n"
			}
			if got := h.rawAnswer(t, req+"\r\n{}"); !strings.Contains(got, " 415 ") {
				t.Errorf("%s %s as %q: %s", r.Method, r.Path, kind, got)
			}
		}
	}
	twice := "POST /api/session HTTP/1.1\r\nHost: " + h.host +
		"\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
	if got := h.rawAnswer(t, twice); !strings.Contains(got, " 415 ") {
		t.Errorf("two types: %s", got)
	}
	chunked := "POST /api/session HTTP/1.1\r\nHost: " + h.host +
		"\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	if got := h.rawAnswer(t, chunked); !strings.Contains(got, " 415 ") {
		t.Errorf("chunked without a type: %s", got)
	}
	if code, body := h.ask(t, http.MethodGet, "/api/session", nil); code != 200 ||
		!strings.Contains(body, `"data":[]`) {
		t.Errorf("something was done: %d %s", code, body)
	}
}

// target replaces the placeholders of a route's path.
func target(r operation.Operation) string {
	return strings.NewReplacer("{sessionID}", "ses_1", "{messageID}", "msg_1", "{requestID}", "per_1", "{providerID}",
		"p", "{id}", "psv_1").
		Replace(r.Path)
}

func TestSecurityHeaders(t *testing.T) {
	h := start(t, server.Config{})
	for _, path := range []string{"/api/health", "/api/nonsense", "/", "/api/session/ses_x"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		bearer(req)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for name, want := range map[string]string{
			"X-Content-Type-Options":  "nosniff",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
			"Access-Control-Allow-Origin": "",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}
