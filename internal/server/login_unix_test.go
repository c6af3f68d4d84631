//go:build unix

package server_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/cairn-dev/cairn/internal/server"
)

// A login admits to everything of its server as its owner, from its own pages only, until it ends.
func TestACookieAdmits(t *testing.T) {
	h := start(t, server.Config{Password: "pw"})
	_, terminal := h.terminal(t, "read x")
	cookie := h.logIn(t, url.Values{"password": {secret}}).Cookies()[0]
	with := func(r *http.Request) { look(r); r.AddCookie(cookie) }
	from := func(origin string) func(*http.Request) {
		return func(r *http.Request) {
			with(r)
			r.Header.Set("Origin", origin)
			r.Header.Set("Sec-Fetch-Site", "same-site")
		}
	}
	for _, path := range []string{"/global/health", "/api/health", "/login"} {
		if resp := h.fetch(t, http.MethodGet, path, "", with); resp.StatusCode != 200 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if resp := h.fetch(t, http.MethodGet, "/api/session/ses_1/event", "", with); resp.StatusCode != 404 {
		t.Errorf("a stream: %d", resp.StatusCode)
	}
	if _, got := h.dial(t, terminal, "Origin", h.url, "Cookie", cookie.String()); got != 101 {
		t.Errorf("a terminal from its own page: %d", got)
	}
	for _, origin := range []string{"https://evil.example", "http://localhost:1", "null", "https://x.opencode.ai"} {
		if _, got := h.dial(t, terminal, "Origin", origin, "Cookie", cookie.String()); got != 403 {
			t.Errorf("a terminal from %s: %d", origin, got)
		}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			if resp := h.fetch(t, method, "/session", "", from(origin)); resp.StatusCode != 403 {
				t.Errorf("%s from %s: %d", method, origin, resp.StatusCode)
			}
		}
		if resp := h.fetch(t, http.MethodPost, "/logout", "", from(origin)); resp.StatusCode != 403 {
			t.Errorf("%s logs others out: %d", origin, resp.StatusCode)
		}
	}
	for _, v := range []string{"", "x", cookie.Value[:63], cookie.Value + "0", secret} {
		other := *cookie
		other.Value = v
		if resp := h.fetch(t, http.MethodGet, "/global/health", "",
			func(r *http.Request) { r.AddCookie(&other) }); resp.StatusCode != 401 {
			t.Errorf("cookie %q: %d", v, resp.StatusCode)
		}
	}
	another := h.logIn(t, url.Values{"password": {secret}}).Cookies()[0]
	events := h.fetch(t, http.MethodGet, "/event", "", with)
	out := h.fetch(t, http.MethodPost, "/logout", "", from(h.url))
	if k := out.Cookies(); out.StatusCode != 303 || out.Header.Get("Location") != "/login" || len(k) != 1 ||
		k[0].Name != cookie.Name ||
		k[0].MaxAge >= 0 {
		t.Errorf("logged out: %d %v", out.StatusCode, out.Header)
	}
	if resp := h.fetch(t, http.MethodGet, "/global/health", "", with); resp.StatusCode != 401 {
		t.Errorf("a login that ended: %d", resp.StatusCode)
	}
	if _, _ = io.Copy(io.Discard, events.Body); events.StatusCode != 200 { // ends with the login
		t.Errorf("an event stream: %d", events.StatusCode)
	}
	if resp := h.fetch(t, http.MethodGet, "/global/health", "",
		func(r *http.Request) { r.AddCookie(another) }); resp.StatusCode != 200 {
		t.Errorf("another login: %d", resp.StatusCode)
	}
}
