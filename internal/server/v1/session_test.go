package v1_test

import (
	"net/http"
	"strings"
	"testing"
)

// What a list of sessions is asked for is read as OpenCode reads it, and the time at which a client put one away is kept.
func TestSessionsAsAsked(t *testing.T) {
	w := newWorld(t, "", nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/session?limit=0", "", http.StatusOK, "[]"},
		{"GET", "/session?roots=yes", "", http.StatusBadRequest, `[\"roots\"]`},
		{"GET", "/session?roots=false", "", http.StatusOK, id},
		{"PATCH", "/session/" + id, `{"time":{"archived":1700000000000}}`, http.StatusOK, `"archived":1700000000000`},
		{"PATCH", "/session/" + id, `{"time":{"archived":-1}}`, http.StatusOK, `"archived":-1`},
		{"PATCH", "/session/" + id, `{"permission":[{"permission":"bash","action":"deny"}]}`, http.StatusBadRequest, `[\"permission\"][0][\"pattern\"]`},
		{"POST", "/session", `{"permission":[{"permission":"bash","pattern":"*","action":"maybe"}]}`, http.StatusBadRequest, `[\"permission\"][0][\"action\"]`},
	} {
		a := w.ask(t, c.method, c.path, c.body)
		if a.status != c.status || !strings.Contains(a.body, c.says) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, a.status, a.body, c.status, c.says)
		}
	}
}
