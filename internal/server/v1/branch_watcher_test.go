package v1_test

import (
	"net/http"
	"path/filepath"
	"testing"
)

// The streams of a directory, and the global stream, learn that another branch is checked out.
func TestBranchesAreWatched(t *testing.T) {
	w := newWorld(t, "", map[string]string{"sub/a": "x"})
	here, below, all := w.follow(t, "/event"), w.follow(t, "/event?directory="+w.work+"/sub"), w.follow(
		t,
		"/global/event",
	)
	here()
	below()
	all()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"checkout", "-q", "-b", "other/one"}, `vcs.branch.updated {"branch":"other/one"}`},
		{[]string{"checkout", "-q", "main"}, `vcs.branch.updated {"branch":"main"}`},
		{[]string{"checkout", "-q", "--detach"}, `vcs.branch.updated {}`},
	} {
		w.git(t, c.args...)
		for _, next := range []func() string{here, below} {
			if got := next(); got != c.want {
				t.Errorf("git %v: got %s, want %s", c.args, got, c.want)
			}
		}
		for range 2 { // of both directories
			if got := all(); got != w.work+" "+c.want && got != w.work+"/sub "+c.want {
				t.Errorf("git %v: got for all %s", c.args, got)
			}
		}
	}
	// A directory without a listener that was requested.
	v := &world{contract: w.contract, home: w.home, work: filepath.Join(t.TempDir(), "elsewhere"), client: w.client}
	v.git(t, "init", "-q", "-b", "main")
	if a := w.ask(t, http.MethodGet, "/vcs?directory="+v.work, ""); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	v.git(t, "checkout", "-q", "-b", "there")
	if got, want := all(), v.work+` vcs.branch.updated {"branch":"there"}`; got != want {
		t.Errorf("got for all %s, want %s", got, want)
	}
}
