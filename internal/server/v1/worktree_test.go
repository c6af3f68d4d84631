package v1_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// Worktrees are created, listed, reset and removed as in OpenCode; events say when one is prepared.
func TestWorktrees(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n"})
	const path = "/experimental/worktree"
	next := w.follow(t, "/global/event")
	next()
	made := read(t, w.ask(t, http.MethodPost, path, `{"name":"fix","startCommand":"echo yes > ready.txt"}`).body).(map[string]any)
	directory, _ := made["directory"].(string)
	if made["name"] != "fix" || made["branch"] != "cairn/fix" || filepath.Base(directory) != "fix" {
		t.Fatal(made)
	}
	prepared := func() string {
		for {
			if got := next(); strings.Contains(got, " worktree.") {
				return got
			}
		}
	}
	if got := prepared(); got != directory+` worktree.ready {"name":"fix","branch":"cairn/fix"}` {
		t.Error(got)
	}
	if a := w.ask(t, http.MethodGet, path, ""); string(a.body) != `["`+directory+`"]` {
		t.Errorf("the list: %v", a)
	}
	for _, c := range []struct{ method, path, body, want string }{
		{http.MethodPost, path, `{"name":"fix"}`, "WorktreeCreateFailedError"},
		{http.MethodDelete, path, `{"directory":"` + w.work + `"}`, "WorktreeRemoveFailedError"},
		{http.MethodDelete, path, `{"directory":"` + directory + `"}`, "uncommitted changes"},
		{http.MethodPost, path + "/reset", `{"directory":"` + directory + `"}`, "WorktreeResetFailedError"},
		{http.MethodDelete, path, `{}`, "Missing key"},
	} {
		if a := w.ask(t, c.method, c.path, c.body); a.status != 400 || !strings.Contains(string(a.body), c.want) {
			t.Errorf("%s %s: %v", c.method, c.body, a)
		}
	}
	w.ask(t, http.MethodPost, path, `{"name":"bad","startCommand":"exit 3"}`)
	if got := prepared(); !strings.Contains(got, `worktree.failed {"message":"exit 3: exit code 3`) {
		t.Error(got)
	}
	other := filepath.Join(filepath.Dir(directory), "bad")
	for _, c := range []struct{ method, path string }{{http.MethodPost, path + "/reset"}, {http.MethodDelete, path}} {
		a := w.ask(t, c.method, c.path+"?directory="+url.QueryEscape(other), `{"directory":"`+other+`"}`)
		if a.status != 200 || string(a.body) != "true" {
			t.Errorf("%s: %v", c.method, a)
		}
	}
	// Outside of a repository there are none, and none can be made.
	outside := "?directory=" + url.QueryEscape(t.TempDir())
	if a := w.ask(t, http.MethodGet, path+outside, ""); a.status != 200 || string(a.body) != "[]" {
		t.Errorf("outside: %v", a)
	}
	if a := w.ask(t, http.MethodPost, path+outside, `{}`); a.status != 400 || !strings.Contains(string(a.body), "in no git repository") {
		t.Errorf("outside: %v", a)
	}
	if a := w.ask(t, http.MethodDelete, path, `{"directory":"`+other+`"}`); a.status != 400 ||
		!strings.Contains(string(a.body), "not found") {
		t.Errorf("removed again: %v", a)
	}
}
