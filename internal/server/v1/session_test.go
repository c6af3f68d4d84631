package v1_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What a list of sessions is asked for is read as OpenCode reads it, and the time at which a client put one away is
// kept.
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
		{
			"PATCH", "/session/" + id, `{"permission":[{"permission":"bash","action":"deny"}]}`, http.StatusBadRequest,
			`[\"permission\"][0][\"pattern\"]`,
		},
		{
			"POST", "/session", `{"permission":[{"permission":"bash","pattern":"*","action":"maybe"}]}`,
			http.StatusBadRequest, `[\"permission\"][0][\"action\"]`,
		},
	} {
		a := w.ask(t, c.method, c.path, c.body)
		if a.status != c.status || !strings.Contains(a.body, c.says) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, a.status, a.body, c.status, c.says)
		}
	}
}

// A list that leaves in pieces has the same bytes as each of its sessions alone.
func TestLongListOfSessions(t *testing.T) {
	w := newWorld(t, "", nil)
	var want []string
	for i := range 130 {
		made := read(t, w.ask(t, http.MethodPost, "/session",
			fmt.Sprintf(`{"title":"%d %s"}`, i, strings.Repeat("\u00e4", 400))).body).(map[string]any)
		want = append(want, w.ask(t, http.MethodGet, "/session/"+made["id"].(string), "").body)
	}
	got := w.ask(t, http.MethodGet, "/session?limit=1000", "").body
	for _, one := range want {
		if !strings.Contains(got, one) {
			t.Fatalf("%s is not in the list", one)
		}
	}
	if size := len(strings.Join(want, ",")) + len("[]"); len(got) != size || len(got) < 64<<10 {
		t.Errorf("the list has %d bytes, want %d", len(got), size)
	}
}
