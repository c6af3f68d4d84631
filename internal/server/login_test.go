package server_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairn-dev/cairn/internal/server"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
)

// look sets the headers that a browser sends when a person types an address.
func look(r *http.Request) {
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	r.Header.Set("Sec-Fetch-Site", "none")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
}

func (h *house) fetch(t testing.TB, method, path, body string, change ...func(*http.Request)) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// handleLogin posts the form as the page does.
func (h *house) logIn(t testing.TB, form url.Values, change ...func(*http.Request)) *http.Response {
	t.Helper()
	page := func(r *http.Request) {
		look(r)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", h.url)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return h.fetch(t, http.MethodPost, "/login", form.Encode(), append([]func(*http.Request){page}, change...)...)
}

// Browsers without a login get the login page for every path; programs get an error.
func TestBrowsersAreShownALogin(t *testing.T) {
	for name, c := range map[string]server.Config{
		"secret": {}, "password": {Password: "pw", User: "me"},
		"open": {OpenLocal: true},
	} {
		h := start(t, c)
		for _, path := range []string{
			"/", "/doc", "/session?auth_token=d3Jvbmc6d3Jvbmc=&x=1", "/api/session", "/event",
			"/login", `/"><script>alert(1)</script>`,
		} {
			resp := h.fetch(t, http.MethodGet, strings.ReplaceAll(strings.ReplaceAll(path, `"`, "%22"), "<", "%3C"), "", look)
			b, _ := io.ReadAll(resp.Body)
			page := string(b)
			if resp.StatusCode != http.StatusUnauthorized ||
				!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") ||
				!strings.Contains(page, `action="/login"`) ||
				strings.Contains(page, `name="user"`) != (c.Password != "") {
				t.Errorf("%s, %s: %d %s", name, path, resp.StatusCode, page)
			}
			if resp.Header.Get("WWW-Authenticate") != "" {
				t.Errorf("%s, %s: the browser asks in a window of its own", name, path)
			}
			for _, bad := range []string{"d3Jvbmc", "<script", secret, "pw", `"me"`} {
				if strings.Contains(page, bad) {
					t.Errorf("%s, %s: the page holds %q", name, path, bad)
				}
			}
			csp := resp.Header.Get("Content-Security-Policy")
			if !strings.HasPrefix(csp, "default-src 'none'; style-src 'sha256-") ||
				!strings.Contains(csp, "frame-ancestors 'none'") ||
				resp.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s, %s: %v", name, path, resp.Header)
			}
		}
		for what, change := range map[string]func(*http.Request){"a script": func(r *http.Request) {
			r.Header.Set("Accept", "*/*")
			r.Header.Set("Sec-Fetch-Site", "none")
		}, "a page's image": func(r *http.Request) { look(r); r.Header.Set("Sec-Fetch-Site", "cross-site") }} {
			resp := h.fetch(t, http.MethodGet, "/session", "", change)
			if b, _ := io.ReadAll(resp.Body); strings.Contains(string(b), "<") || resp.StatusCode < 401 ||
				resp.StatusCode > 403 {
				t.Errorf("%s, %s: %d %s", name, what, resp.StatusCode, b)
			}
		}
	}
}

func TestLoggingIn(t *testing.T) {
	h := start(t, server.Config{Password: "pw:with colon", User: "me"})
	page := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		form   url.Values
		change func(*http.Request)
		want   int
	}{
		"password":       {url.Values{"user": {"me"}, "password": {"pw:with colon"}}, nil, 303},
		"secret":         {url.Values{"password": {secret}}, nil, 303},
		"wrong":          {url.Values{"user": {"me"}, "password": {"pw"}}, nil, 401},
		"nothing":        {nil, nil, 401},
		"wrong user":     {url.Values{"user": {"opencode"}, "password": {"pw:with colon"}}, nil, 401},
		"page of others": {url.Values{"password": {secret}}, page("Origin", "https://evil.example"), 403},
		"page of a port": {url.Values{"password": {secret}}, page("Origin", "http://localhost:1"), 403},
		"no page":        {url.Values{"password": {secret}}, page("Origin", "null"), 403},
		"another name": {
			url.Values{"password": {secret}},
			func(r *http.Request) { r.Host = "evil.example" },
			403,
		},
		"text":               {url.Values{"password": {secret}}, page("Content-Type", "text/plain"), 415},
		"too long":           {url.Values{"password": {secret}, "x": {strings.Repeat("x", 9000)}}, nil, 413},
		"in the query":       {nil, func(r *http.Request) { r.URL.RawQuery = "password=" + secret }, 401},
		"with a wrong guess": {url.Values{"password": {secret}}, authorization("Bearer x"), 303},
	} {
		change := func(r *http.Request) {
			if c.change != nil {
				c.change(r)
			}
		}
		resp := h.logIn(t, c.form, change)
		b, _ := io.ReadAll(resp.Body)
		cookies := resp.Cookies()
		if resp.StatusCode != c.want || (len(cookies) == 1) != (c.want == 303) || strings.Contains(string(b), secret) ||
			strings.Contains(string(b), "pw:") {
			t.Errorf("%s: %d %v %s", name, resp.StatusCode, resp.Header, b)
			continue
		}
		if c.want != 303 {
			continue
		}
		if k := cookies[0]; k.Name != "cairn-"+strings.Split(h.host, ":")[1] || !k.HttpOnly ||
			k.SameSite != http.SameSiteStrictMode || k.Path != "/" || k.MaxAge <= 0 ||
			k.Domain != "" ||
			strings.Contains(k.Value, secret) ||
			len(k.Value) < 64 {
			t.Errorf("%s: the cookie is %v", name, k)
		}
	}
}

// A browser comes to where it wanted to, on this server, without what it said to get in.
func TestWhereALoginLeads(t *testing.T) {
	h := start(t, server.Config{})
	for next, want := range map[string]string{
		"/doc": "/doc", "/session?directory=/a%20b&auth_token=x&ticket=y": "/session?directory=%2Fa+b",
		"/session/a%2Fb": "/session/a%2Fb",
		"":               "/login", "/": "/login", "/logout": "/login", "//evil.example": "/login",
		"https://evil.example": "/login",
		"/\\evil.example":      "/login",
		"\\\\evil.example":     "/login", "javascript:alert(1)": "/login", "/%2F/evil.example": "/login",
		"///evil.example": "/login", "http:/doc": "/login",
		"/x\r\nSet-Cookie: a=b": "/login", "/\tevil": "/login", "x": "/login", "/doc#x": "/doc",
		"//user@evil.example/": "/login", "/\x00": "/login",
	} {
		resp := h.logIn(t, url.Values{"password": {secret}, "next": {next}})
		if got := resp.Header.Get("Location"); resp.StatusCode != 303 || got != want {
			t.Errorf("%q leads to %d %q, want %q", next, resp.StatusCode, got, want)
		}
	}
}

// Wrong forms are answered at the rate of other wrong guesses, and then no more.
func TestLoginsAreSlow(t *testing.T) {
	h := start(t, server.Config{})
	var refused atomic.Int32
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if h.logIn(t, url.Values{"password": {"x"}}).StatusCode == http.StatusTooManyRequests {
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if refused.Load() == 0 {
		t.Error("forty guesses were answered")
	}
	if resp := h.logIn(t, url.Values{"password": {secret}}); resp.StatusCode != 303 {
		t.Errorf("a good one: %d", resp.StatusCode)
	}
}

// A tool's process gets in by no form.
func TestToolsCannotLogIn(t *testing.T) {
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("the kernel does not tell here")
	}
	h := start(t, server.Config{})
	cookie := h.logIn(t, url.Values{"password": {secret}}).Cookies()[0]
	for name, env := range map[string]string{
		"the form":   "CAIRN_TEST_FORM=password=" + secret,
		"the cookie": "CAIRN_TEST_COOKIE=" + cookie.String(),
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = []string{child + "=" + h.url, "CAIRN_CALL=1", env}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(out)); got != "403" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// No contract has an operation where browsers log in.
func TestLoginIsNobodysPath(t *testing.T) {
	for _, r := range v1.ListOperations() {
		if strings.HasPrefix(r.Path, "/login") || strings.HasPrefix(r.Path, "/logout") {
			t.Error(r.Path)
		}
	}
	for _, r := range v2.ListOperations() {
		if !strings.HasPrefix(r.Path, "/api/") {
			t.Error(r.Path)
		}
	}
}
