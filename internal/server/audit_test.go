package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/server"
)

// Logins, logouts and changes of settings are in the audit log with their caller, without what they contain; refused
// callers are counted in one entry.
func TestAuditedRequests(t *testing.T) {
	trail := audit.New(t.TempDir())
	h := start(t, server.Config{Password: "pw", User: "me", Audit: trail})
	for range 20 {
		h.ask(t, http.MethodGet, "/config", nil)
	}
	resp := h.logIn(t, url.Values{"user": {"me"}, "password": {"pw"}})
	if len(resp.Cookies()) != 1 {
		t.Fatal(resp.Status)
	}
	browser := func(r *http.Request) { r.AddCookie(resp.Cookies()[0]) }
	h.ask(t, http.MethodGet, "/config", browser)
	h.ask(t, http.MethodPut, "/auth/openai", browser)
	h.ask(t, http.MethodPatch, "/config", browser)
	h.ask(t, http.MethodPost, "/vcs/apply", browser)
	h.ask(t, http.MethodPost, "/pty", browser)
	h.ask(t, http.MethodPost, "/tui/clear-prompt", browser) // shows something
	h.fetch(t, http.MethodPost, "/logout", "", browser, look)
	h.fetch(t, http.MethodPost, "/logout", "", browser, look) // of no login

	r, err := trail.Read(t.Context())
	if err != nil || r.Problem != "" {
		t.Fatal(r.Problem, err)
	}
	want := []string{
		"refused admin own refused credential_missing 1; the last from 127.0.0.1:",
		"login admin login login from 127.0.0.1:",
		"settings admin login PUT /auth/openai", "settings admin login PATCH /config",
		"settings admin login POST /vcs/apply", "settings admin login POST /pty",
		"login admin login logout from 127.0.0.1:",
	}
	if len(r.Entries) != len(want) {
		t.Fatalf("%+v", r.Entries)
	}
	for i, e := range r.Entries {
		if got := string(e.Kind) + " " + e.Who + " " + e.What; !strings.HasPrefix(got, want[i]) {
			t.Errorf("%s, want %s", got, want[i])
		}
	}
}
