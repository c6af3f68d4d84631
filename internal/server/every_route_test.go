package server_test

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/server"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/tool"
)

// everyRoute lists all operations of the routers with their preflight requests, and some unknown paths.
func everyRoute() (out [][2]string) {
	add := func(method, path string) {
		path = regexp.MustCompile(`\{[a-zA-Z]+\}`).ReplaceAllStringFunc(path, func(name string) string {
			return map[string]string{
				"{sessionID}": "ses_1", "{messageID}": "msg_1", "{partID}": "prt_1",
				"{requestID}": "per_1", "{permissionID}": "per_1", "{ptyID}": "pty_1",
			}[name] + "x"
		})
		out = append(out, [2]string{method, path}, [2]string{http.MethodOptions, path})
	}
	for _, r := range v1.ListOperations() {
		add(r.Method, r.Path)
	}
	for _, r := range v2.ListOperations() {
		add(r.Method, r.Path)
	}
	for _, path := range []string{
		"/", "/nonsense", "/api/nonsense", "/api", "/login", "/logout", "/favicon.ico",
		"/assets/x.js",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			add(method, path)
		}
	}
	return out
}

// refusedAll sends the headers to every route, and holds that each is answered with one of the statuses, and by no
// permission for a page.
func (h *house) refusedAll(t *testing.T, what string, headers []string, statuses string) {
	t.Helper()
	for _, r := range everyRoute() {
		req, err := http.NewRequestWithContext(t.Context(), r[0], h.url+r[1], http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range headers {
			name, value, _ := strings.Cut(line, ": ")
			if name == "Host" {
				req.Host = value
			}
			req.Header.Add(name, value)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		expected := strings.Contains(statuses, resp.Status[:3])
		if expected { // an event stream would not end
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		_ = resp.Body.Close()
		if !expected || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s, %s %s: %s %v", what, r[0], r[1], resp.Status, resp.Header)
		}
	}
}

// rawHead sends bytes as they are and returns the head of the answer.
func (h *house) rawHead(t *testing.T, request string) string {
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", h.host)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Error(err)
	}
	b, _ := io.ReadAll(c) // the server closes
	head, _, _ := strings.Cut(string(b), "\r\n\r\n")
	return head
}

// Every operation, of either contract or of none, streams and WebSockets among them, refuses whom it was not meant for:
// by the name that was asked for, by the page that asks, by who asks. Good credentials do not help the first two.
func TestEveryRouteRefuses(t *testing.T) {
	h := start(t, server.Config{Password: "pw", Origins: []string{"https://app.example.com"}})
	good, json := "Authorization: Bearer "+secret, "Content-Type: application/json"
	upgrade := []string{
		"Upgrade: websocket",
		"Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
	}
	host := "Host: " + h.host
	for what, headers := range map[string][]string{
		"another name":         {"Host: evil.example", good, json},
		"another name's port":  {"Host: evil.example:" + h.host[strings.Index(h.host, ":")+1:], good, json},
		"page of a third port": {"Host: 127.0.0.1:1", good, json, "Origin: http://127.0.0.1:2"},
		"page of others":       {host, good, json, "Origin: https://evil.example"},
		"page of no origin":    {host, good, json, "Origin: null"},
		"page of another port": {host, good, json, "Origin: http://localhost:1"},
		"page of OpenCode's":   {host, good, json, "Origin: https://x.opencode.ai"},
		"two pages": {
			host, good, json, "Origin: https://app.example.com",
			"Origin: https://evil.example",
		},
		"another site, no origin": {host, good, json, "Sec-Fetch-Site: cross-site"},
		"another port, no origin": {host, good, json, "Sec-Fetch-Site: same-site"},
		"WebSocket of others":     append([]string{host, good, json, "Origin: https://evil.example"}, upgrade...),
		"preflight of others": {
			host, good, json, "Origin: https://evil.example",
			"Access-Control-Request-Method: POST",
		},
	} {
		h.refusedAll(t, what, headers, "403 400")
	}
	// What the login takes is a form: as JSON it is nothing. Who logs out without a login is sent to it.
	for what, headers := range map[string][]string{
		"no credentials":              {host, json},
		"browser without credentials": {host, json, "Accept: text/html", "Sec-Fetch-Site: none"},
		"a WebSocket":                 append([]string{host, json}, upgrade...),
		"no preflight":                {host, json, "Access-Control-Request-Method: POST"},
	} {
		h.refusedAll(t, what, headers, "401 415 303")
	}
	for _, path := range []string{
		"//session", "/./session", "/session/..;/config", "/%2e%2e/session", "/session%2f",
		"/SESSION", "/doc/..", "/api/../session", "/api%2fsession", "/login/../session", "/login%2f..%2fsession",
	} {
		if got := h.rawHead(t, "GET "+path+" HTTP/1.1\r\n"+host+"\r\nConnection: close\r\n\r\n"); !strings.Contains(
			got,
			" 401 ",
		) {
			t.Errorf("without credentials, %s: %q", path, got)
		}
	}
}

// A request that is marked as a tool's is refused everywhere, also with credentials and where local callers need none.
func TestRequestsOfToolsAreRefused(t *testing.T) {
	h := start(t, server.Config{OpenLocal: true})
	h.refusedAll(t, "a tool", []string{tool.RequestHeader + ": 1", "Content-Type: application/json"}, "403")
	h.refusedAll(t, "a tool with the secret", []string{
		tool.RequestHeader + ": ", "Authorization: Bearer " + secret, "Content-Type: application/json",
	}, "403")
}

// A page of others can have a browser send forms, text, and nothing at all without asking: none of it changes anything,
// in either contract, also where everybody local is trusted.
func TestForgedRequestsToEveryRoute(t *testing.T) {
	h := start(t, server.Config{OpenLocal: true})
	for _, kind := range []string{
		"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
		"text/plain; charset=application/json",
	} {
		for _, r := range everyRoute() {
			if r[0] == http.MethodGet || r[0] == http.MethodOptions || r[1] == "/login" || r[1] == "/logout" {
				continue
			}
			resp := h.fetch(t, r[0], r[1], "{}", func(req *http.Request) { req.Header.Set("Content-Type", kind) })
			if _, err := io.Copy(io.Discard, resp.Body); err != nil ||
				resp.StatusCode != http.StatusUnsupportedMediaType {
				t.Errorf("%s %s as %s: %s, %v", r[0], r[1], kind, resp.Status, err)
			}
		}
	}
}
