package v1_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// As recorded from OpenCode (surface_write).
func TestChangesOfTheWorkingTree(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\nbeta\ngamma\n", "b.txt": "b\n", "c.txt": "c\n"})
	for path, want := range map[string]string{
		"/vcs": `{"branch":"main","default_branch":"main"}`, "/vcs/status": `[]`,
		"/vcs/diff?mode=git": `[]`, "/vcs/diff/raw": ``,
	} {
		if a := w.ask(t, http.MethodGet, path, ""); a.status != 200 || a.body != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	patch := `{"patch":"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n"}`
	if a := w.ask(t, http.MethodPost, "/vcs/apply", patch); a.body != `{"applied":true}` {
		t.Fatal(a)
	}
	if a := w.ask(t, http.MethodPost, "/vcs/apply", patch); a.status != 400 ||
		a.body != `{"name":"VcsApplyError","data":{"message":"Patch can't be applied","reason":"not-clean"}}` {
		t.Error(a)
	}
	if err := os.Remove(filepath.Join(w.work, "b.txt")); err != nil {
		t.Fatal(err)
	}
	w.put(t, filepath.Join(w.work, "new dir/n.txt"), "1\n2")
	if a := w.ask(t, http.MethodGet, "/vcs/status",
		""); a.body != `[{"file":"a.txt","additions":1,"deletions":1,"status":"modified"},{"file":"b.txt","additions":0,"deletions":1,"status":"deleted"},{"file":"new dir/n.txt","additions":2,"deletions":0,"status":"added"}]` {
		t.Error(a.body)
	}
	a := w.ask(t, http.MethodGet, "/vcs/diff?mode=git&context=0", "")
	for _, want := range []string{
		`@@ -2 +2 @@ alpha\n-beta\n+BETA\n"`, `deleted file mode 100644`,
		`@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\n"`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in %s", want, a.body)
		}
	}
	if a := w.ask(t, http.MethodGet, "/vcs/diff/raw", ""); a.header.Get(
		"Content-Type",
	) != "text/x-diff; charset=utf-8" ||
		!strings.HasPrefix(a.body, "diff --git a/a.txt b/a.txt\n") {
		t.Error(a)
	}
	for _, bad := range []string{
		"/vcs/diff", "/vcs/diff?mode=x", "/vcs/diff?mode=git&context=-1",
		"/vcs/diff?mode=git&context=x",
	} {
		if a := w.ask(t, http.MethodGet, bad, ""); a.status != 400 {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
}

func TestChangesSinceTheBranchWasLeft(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n"})
	w.git(t, "checkout", "-q", "-b", "work")
	w.put(t, filepath.Join(w.work, "a.txt"), "ALPHA\n")
	w.git(t, "commit", "-q", "-a", "-m", "second")
	if a := w.ask(t, http.MethodGet, "/vcs/diff?mode=git", ""); a.body != `[]` {
		t.Error(a.body)
	}
	if a := w.ask(t, http.MethodGet, "/vcs/diff?mode=branch", ""); !strings.Contains(a.body, `+ALPHA`) {
		t.Error(a.body)
	}
	if a := w.ask(t, http.MethodGet, "/vcs", ""); a.body != `{"branch":"work","default_branch":"main"}` {
		t.Error(a.body)
	}
}

// The default branch has left no other, as OpenCode sees it: what is not committed there is no difference of a branch.
func TestTheDefaultBranchDiffersFromNone(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n"})
	w.put(t, filepath.Join(w.work, "a.txt"), "ALPHA\n")
	w.put(t, filepath.Join(w.work, "n.txt"), "n\n")
	for _, name := range []string{"main", "trunk"} { // beside no branch by a known name, too
		w.git(t, "branch", "-M", name)
		if a := w.ask(t, http.MethodGet, "/vcs/diff?mode=branch", ""); a.status != 200 || a.body != `[]` {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := w.ask(t, http.MethodGet, "/vcs/diff?mode=git", ""); !strings.Contains(a.body, `+ALPHA`) ||
		!strings.Contains(a.body, `n.txt`) {
		t.Error(a.body)
	}
}

func TestNoCheckout(t *testing.T) {
	w := newWorld(t, "", nil)
	elsewhere := "directory=" + t.TempDir()
	for path, want := range map[string]string{
		"/vcs": `{}`, "/vcs/status": `[]`, "/vcs/diff?mode=git": `[]`,
		"/vcs/diff/raw": ``,
	} {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		if a := w.ask(t, http.MethodGet, path+sep+elsewhere, ""); a.status != 200 || a.body != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := w.ask(t, http.MethodPost, "/vcs/apply?"+elsewhere, `{"patch":"x"}`); a.status != 400 ||
		!strings.Contains(a.body, `"reason":"non-git"`) {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodGet, "/project/current?"+elsewhere, ""); !strings.HasPrefix(
		a.body,
		`{"id":"global","worktree":"/","time":`,
	) {
		t.Error(a.body)
	}
}

// A repository's configuration names programs; looking at its changes runs none of them.
func TestARepositoryRunsNothing(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n", ".gitattributes": "*.txt filter=evil diff=evil\n"})
	proof := filepath.Join(w.home, "proof")
	for _, key := range []string{
		"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.command",
		"diff.evil.textconv", "core.fsmonitor", "diff.external", "core.pager",
	} {
		w.git(t, "config", key, "touch "+proof+"; cat")
	}
	w.git(t, "config", "filter.evil.required", "true")
	w.put(t, filepath.Join(w.work, "a.txt"), "ALPHA\n")
	for _, path := range []string{"/vcs", "/vcs/status", "/vcs/diff?mode=git", "/vcs/diff/raw"} {
		if a := w.ask(t, http.MethodGet, path, ""); a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	w.ask(t, http.MethodPost, "/vcs/apply", `{"patch":"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-ALPHA\n+Alpha\n"}`)
	if _, err := os.Stat(proof); err == nil {
		t.Error("a program of the repository ran")
	}
	for _, path := range []string{"../out.txt", "/etc/out.txt", ".git/hooks/pre-commit"} {
		a := w.ask(
			t,
			http.MethodPost,
			"/vcs/apply",
			`{"patch":"diff --git a/`+path+` b/`+path+`\nnew file mode 100755\n--- /dev/null\n+++ b/`+path+`\n@@ -0,0 +1 @@\n+x\n"}`,
		)
		if a.status != 400 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestInitRepository(t *testing.T) {
	w := newWorld(t, "", nil)
	plain := t.TempDir()
	at := "?directory=" + url.QueryEscape(plain)
	type project struct {
		VCS string `json:"vcs"`
	}
	before := get[project](t, w, "/project/current"+at)
	next := w.follow(t, "/event"+at)
	next()
	a := w.ask(t, http.MethodPost, "/project/git/init"+at, "")
	if a.status != http.StatusOK || !strings.Contains(a.body, `"vcs":"git"`) || before.VCS != "" {
		t.Fatalf("%+v, then %+v", before, a)
	}
	if got := next(); !strings.HasPrefix(got, "server.instance.disposed") {
		t.Error(got)
	}
	if got := get[map[string]string](t, w, "/vcs"+at); got["branch"] == "" {
		t.Error("no branch", got)
	}
	if got := get[project](t, w, "/project/current"+at); got.VCS != "git" {
		t.Error(got)
	}
	if again := w.ask(t, http.MethodPost, "/project/git/init"+at, ""); again.body != a.body {
		t.Errorf("%+v, again %+v", a, again)
	}
}
