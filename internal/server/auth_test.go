package server_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server"
	"github.com/cairn-dev/cairn/internal/server/operation"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
)

func basic(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

func authorization(v string) func(*http.Request) {
	return func(r *http.Request) { r.Header["Authorization"] = []string{v} }
}

// With a password, every operation refuses callers without it.
func TestEveryRouteNeedsCredentials(t *testing.T) {
	h := start(t, server.Config{Password: "pw"})
	for _, r := range append(v2.ListOperations(), operation.Operation{Method: "GET", Path: "/api/nonsense"},
		operation.Operation{Method: "OPTIONS", Path: "/api/session"}) {
		code, body := h.ask(t, r.Method, target(r), nil)
		if code != http.StatusUnauthorized || !strings.Contains(body, `"_tag":"UnauthorizedError"`) {
			t.Errorf("%s %s: %d %s", r.Method, r.Path, code, body)
		}
	}
}

// V1 refuses unknown callers like OpenCode: with an empty body.
func TestEveryV1RouteNeedsCredentials(t *testing.T) {
	h := start(t, server.Config{Password: "pw"})
	for _, r := range append(v1.ListOperations(), operation.Operation{Method: "GET", Path: "/"},
		operation.Operation{Method: "GET", Path: "/nonsense"}, operation.Operation{Method: "OPTIONS", Path: "/session"}) {
		code, body := h.ask(t, r.Method, target(operation.Operation{Method: r.Method, Path: r.Path}), nil)
		if code != http.StatusUnauthorized || body != "" {
			t.Errorf("%s %s: %d %s", r.Method, r.Path, code, body)
		}
	}
}

func TestCredentials(t *testing.T) {
	h := start(t, server.Config{Password: "pw:with colon", User: "me"})
	token := base64.StdEncoding.EncodeToString([]byte("me:pw:with colon"))
	for name, c := range map[string]struct {
		query  string
		change func(*http.Request)
		want   int
	}{
		"secret":            {"", bearer, 200},
		"lower case":        {"", authorization("bearer " + secret), 200},
		"password":          {"", basic("me", "pw:with colon"), 200},
		"token":             {"?auth_token=" + token, nil, 401}, // TestCredentialsInAQuery
		"wrong password":    {"", basic("me", "pw"), 401},
		"wrong user":        {"", basic("opencode", "pw:with colon"), 401},
		"password as token": {"", authorization("Bearer pw:with colon"), 401},
		"cut secret":        {"", authorization("Bearer " + secret[:63]), 401},
		"longer secret":     {"", authorization("Bearer " + secret + "0"), 401},
		"upper secret":      {"", authorization("Bearer " + strings.ToUpper(secret)), 401},
		"empty bearer":      {"", authorization("Bearer "), 401},
		"only the word":     {"", authorization("Bearer"), 401},
		"other scheme":      {"", authorization("Digest x"), 401},
		"secret as basic":   {"", authorization("Basic " + secret), 401},
		"not base64":        {"", authorization("Basic ***"), 401},
		"two headers": {"", func(r *http.Request) {
			r.Header["Authorization"] = []string{
				"Bearer " + secret,
				"Bearer x",
			}
		}, 401},
		"secret in a query": {"?auth_token=" + secret, nil, 401},
		"two tokens":        {"?auth_token=" + token + "&auth_token=" + token, nil, 401},
		"wrong beside good": {"?auth_token=" + token, authorization("Bearer x"), 401},
	} {
		code, body := h.ask(t, http.MethodGet, "/api/health"+c.query, c.change)
		if code == http.StatusTooManyRequests {
			code = 401
		}
		if code != c.want || strings.Contains(body, secret) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

// EventSource of browsers cannot send headers: the streams alone accept credentials in the query, where histories and
// logs of proxies keep them.
func TestCredentialsInAQuery(t *testing.T) {
	h := start(t, server.Config{Password: "pw"})
	query := "?auth_token=" + base64.StdEncoding.EncodeToString([]byte("opencode:pw"))
	streams := 0
	for _, r := range append(v1.ListOperations(), v2.ListOperations()...) {
		path := target(r) + query
		if r.IsStream() {
			streams++
			want := 200
			if strings.Contains(r.Path, "{sessionID}") {
				want = 404
			}
			if resp := h.fetch(t, r.Method, path, ""); resp.StatusCode != want {
				t.Errorf("%s: %s", r.Path, resp.Status)
			}
			continue
		}
		resp := h.fetch(t, r.Method, path, "")
		got := resp.Header.Get("X-Cairn-Error")
		if resp.StatusCode != 401 || !strings.HasPrefix(got, caller.ReasonQuery+": ") {
			t.Errorf("%s %s: %s, %s", r.Method, r.Path, resp.Status, got)
		}
	}
	if streams != 4 {
		t.Errorf("%d streams", streams)
	}
	if resp := h.fetch(t, http.MethodGet, "/event?auth_token=eDp5", ""); resp.StatusCode != 401 {
		t.Errorf("wrong credentials: %s", resp.Status)
	}
}

func TestUnauthorizedSaysHow(t *testing.T) {
	h := start(t, server.Config{Password: "pw"})
	resp, err := http.Get(h.url + "/api/health")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("WWW-Authenticate"); got != `Basic realm="Secure Area"` {
		t.Errorf("got %q", got)
	}
}

// Wrong guesses are answered at the rate of five a second; good credentials are not held up.
func TestGuessesAreSlow(t *testing.T) {
	h := start(t, server.Config{})
	begun, answered := time.Now(), 0
	for range 13 {
		if code, _ := h.ask(t, http.MethodGet, "/api/health", authorization("Bearer x")); code == 401 {
			answered++
		}
	}
	if took := time.Since(begun); took < time.Second || answered != 13 {
		t.Errorf("%d guesses in %s", answered, took)
	}
	if code, _ := h.ask(t, http.MethodGet, "/api/health", bearer); code != 200 {
		t.Errorf("a good one: %d", code)
	}
}

// child makes this test binary a client without credentials; it prints what it was answered.
const child = "CAIRN_TEST_CHILD"

func runChild() bool {
	url := os.Getenv(child)
	if url == "" {
		return false
	}
	tr := &http.Transport{}
	if path, ok := strings.CutPrefix(url, "unix:"); ok {
		url = "http://localhost"
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}
	}
	req, err := http.NewRequest(http.MethodGet, url+"/api/health", nil)
	if err != nil {
		fmt.Println(err)
		return true
	}
	if form := os.Getenv("CAIRN_TEST_FORM"); form != "" {
		req.Method, req.URL.Path, req.Body = http.MethodPost, "/login", io.NopCloser(strings.NewReader(form))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if c := os.Getenv("CAIRN_TEST_COOKIE"); c != "" {
		req.Header.Set("Cookie", c)
	}
	if s := os.Getenv("CAIRN_TEST_SECRET"); s != "" {
		req.Header.Set("Authorization", "Bearer "+s)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		fmt.Println(err)
		return true
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode)
	return true
}

// On Linux the kernel says whose a loopback connection is. This process is its own user; its children stand for tools,
// whether they bear the mark or not.
func TestTheKernelKnowsTheCaller(t *testing.T) {
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("the kernel does not tell here")
	}
	h := start(t, server.Config{})
	if code, body := h.ask(t, http.MethodGet, "/api/health", nil); code != 200 {
		t.Errorf("this very process: %d %s", code, body)
	}
	for name, env := range map[string][]string{
		"a child over TCP":            {child + "=" + h.url},
		"a marked child over TCP":     {child + "=" + h.url, "CAIRN_CALL=1"},
		"a child over the socket":     {child + "=unix:" + h.socket},
		"a child that has the secret": {child + "=" + h.url, "CAIRN_TEST_SECRET=" + secret},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(out)); got != "403" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A request that a browser may have sent is never served without credentials.
func TestBrowsersNeedCredentials(t *testing.T) {
	for _, open := range []bool{false, true} {
		h := start(t, server.Config{OpenLocal: open})
		for name, value := range map[string]string{
			"Origin": h.url, "Sec-Fetch-Site": "none",
			"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
		} {
			code, _ := h.ask(t, http.MethodGet, "/api/health", func(r *http.Request) { r.Header.Set(name, value) })
			if code != http.StatusUnauthorized {
				t.Errorf("open %t, with %s: %d", open, name, code)
			}
		}
	}
}

// Node's fetch marks every request with one of the headers of browsers; OpenCode's SDK must work without set-up.
func TestNodeIsNoBrowser(t *testing.T) {
	h := start(t, server.Config{})
	node := func(r *http.Request) { r.Header.Set("Sec-Fetch-Mode", "cors") }
	if code, _ := h.ask(t, http.MethodGet, "/api/health", node); code != http.StatusOK {
		t.Errorf("the same user's node: %d", code)
	}
	both := func(r *http.Request) { node(r); r.Header.Set("Sec-Fetch-Site", "none") }
	if code, _ := h.ask(t, http.MethodGet, "/api/health", both); code != http.StatusUnauthorized {
		t.Errorf("a browser: %d", code)
	}
}

func TestTheClientLearnsThatItIsNobody(t *testing.T) {
	h := start(t, server.Config{Password: "pw"})
	c := &api.Client{Base: h.url, Auth: api.Auth{Password: "no"}}
	_, err := c.Health(t.Context())
	if err == nil || !strings.Contains(err.Error(), "credentials") {
		t.Errorf("got %v", err)
	}
	c.Auth.Password = "pw"
	if _, err := c.Health(t.Context()); err != nil {
		t.Error(err)
	}
}
