package v1_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A session moves within its project, and not out of it.
func TestMoveSession(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n"})
	tree := filepath.Join(t.TempDir(), "tree")
	w.git(t, "worktree", "add", "-q", "--detach", tree)
	w.put(t, filepath.Join(w.work, "a.txt"), "beta\n")
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"sessionID":"` + id + `"}`, 400, "destination"},
		{`{"destination":{"directory":"/"}}`, 400, "sessionID"},
		{`{"sessionID":"ses_none","destination":{"directory":"` + tree + `"}}`, 404, "ses_none"},
		{`{"sessionID":"` + id + `","destination":{"directory":"` + t.TempDir() + `"}}`, 400, `"name":"MoveSessionError"`},
		{`{"sessionID":"` + id + `","destination":{"directory":"/no/such"}}`, 400, `"name":"MoveSessionError"`},
		{`{"sessionID":"` + id + `","destination":{"directory":"` + tree + `"},"moveChanges":true}`, 204, ""},
	} {
		a := w.ask(t, http.MethodPost, "/experimental/control-plane/move-session", c.body)
		if a.status != c.status || !strings.Contains(string(a.body), c.want) {
			t.Errorf("%s: %v", c.body, a)
		}
	}
	moved := read(t, w.ask(t, http.MethodGet, "/session/"+id, "").body).(map[string]any)
	if got := moved["directory"]; got != tree {
		t.Errorf("the session is in %v, want %s", got, tree)
	}
}
