package v1_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/test/sharetarget"
)

// A session is shared at the server of the configuration: the client sees the address in the answer, in the session and
// on the stream, until the share is revoked or the session is deleted.
func TestShare(t *testing.T) {
	target := sharetarget.Start(t)
	w := newWorld(t, `, "enterprise": {"url": "`+target.URL+`"}`, nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	next := w.follow(t, "/event")
	next()
	url := `"share":{"url":"` + target.URL + `/share/` + id[len(id)-8:] + `"}`
	for _, method := range []string{http.MethodPost, http.MethodPost} { // again: it stays where it is
		if a := w.ask(t, method, "/session/"+id+"/share", ""); a.status != 200 || !strings.Contains(a.body, url) {
			t.Fatal(a)
		}
	}
	if got := next(); !strings.HasPrefix(got, "session.updated") || !strings.Contains(got, url) {
		t.Error(got)
	}
	if a := w.ask(t, http.MethodGet, "/session/"+id, ""); !strings.Contains(a.body, url) {
		t.Error(a)
	}
	// A fork is not shared.
	fork := w.ask(t, http.MethodPost, "/session/"+id+"/fork", `{}`)
	if fork.status != 200 || strings.Contains(fork.body, `"share"`) {
		t.Error(fork)
	}
	// After it is revoked, the session can be shared again. Its deletion revokes the share.
	for range 2 {
		a := w.ask(t, http.MethodDelete, "/session/"+id+"/share", "") // the second time nothing is shared
		if a.status != 200 || strings.Contains(a.body, `"share"`) || target.IsShared(id[len(id)-8:]) {
			t.Fatal(a)
		}
	}
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/share", ""); a.status != 200 || !strings.Contains(a.body, url) {
		t.Fatal(a)
	}
	if a := w.ask(t, http.MethodDelete, "/session/"+id, ""); a.status != 200 {
		t.Fatal(a)
	}
	err := target.WaitFor(t.Context(), func(rs []sharetarget.Request) bool {
		last := rs[len(rs)-1]
		return last.Operation == sharetarget.Data && last.Status != 0
	})
	if err != nil || target.IsShared(id[len(id)-8:]) {
		t.Error(err)
	}
	for path, want := range map[string]int{"/session/ses_none/share": 404, "/session/" + id + "/share": 404} {
		if a := w.ask(t, http.MethodPost, path, ""); a.status != want {
			t.Errorf("%s: %v", path, a)
		}
	}
}

// A target that fails is an error that names it, and the session is not shared.
func TestShareFails(t *testing.T) {
	target := sharetarget.Start(t)
	target.Fail(sharetarget.Page, sharetarget.Create)
	w := newWorld(t, `, "enterprise": {"url": "`+target.URL+`"}`, nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	a := w.ask(t, http.MethodPost, "/session/"+id+"/share", "")
	if a.status/100 == 2 || !strings.Contains(a.body, target.URL) {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodGet, "/session/"+id, ""); strings.Contains(a.body, `"share"`) {
		t.Error(a)
	}
}

// A target that does not delete a share is an error, and the session does not say that it is shared.
func TestUnshareFails(t *testing.T) {
	target := sharetarget.Start(t)
	w := newWorld(t, `, "enterprise": {"url": "`+target.URL+`"}`, nil)
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/share", ""); a.status != 200 {
		t.Fatal(a)
	}
	target.Fail(sharetarget.Broken)
	if a := w.ask(t, http.MethodDelete, "/session/"+id+"/share", ""); a.status/100 == 2 || !strings.Contains(a.body, "is not complete") {
		t.Error(a)
	}
	target.Recover()
	if a := w.ask(t, http.MethodDelete, "/session/"+id+"/share", ""); a.status != 200 || target.IsShared(id[len(id)-8:]) {
		t.Error(a)
	}
}

// Who may share, and what is shared by itself, is the user's to say; a project's file can only forbid it.
func TestShareMode(t *testing.T) {
	for _, c := range []struct {
		name, user, project string
		auto                bool
		status              int
	}{
		{"default", ``, ``, false, 200},
		{"disabled by the user", `, "share": "disabled"`, `{"share": "manual"}`, false, 400},
		{"disabled by the project", ``, `{"share": "disabled"}`, false, 400},
		{"auto by the project", ``, `{"share": "auto"}`, false, 200},
		{"autoshare by the project", ``, `{"autoshare": true}`, false, 200},
		{"auto", `, "share": "auto"`, ``, true, 200},
		{"auto, disabled by the project", `, "share": "auto"`, `{"share": "disabled"}`, false, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			if c.project != "" {
				files["cairn.json"] = c.project
			}
			w := newWorld(t, c.user, files)
			next := w.follow(t, "/event")
			next()
			created := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)
			id := created["id"].(string)
			child := read(t, w.ask(t, http.MethodPost, "/session", `{"parentID":"`+id+`"}`).body).(map[string]any)["id"].(string)
			isShared := func(id string) bool {
				return strings.Contains(w.ask(t, http.MethodGet, "/session/"+id, "").body, `"share":{`)
			}
			for c.auto && !strings.Contains(next(), `"share":{"url":"`) { // the stream says so once it is
			}
			if isShared(id) != c.auto || isShared(child) {
				t.Errorf("shared %v, child %v", isShared(id), isShared(child))
			}
			a := w.ask(t, http.MethodPost, "/session/"+id+"/share", "")
			if a.status != c.status || c.status == 400 && !strings.Contains(a.body, "disabled") {
				t.Error(a)
			}
			want := c.user != "" || strings.Contains(c.project, "disabled")
			if a := w.ask(t, http.MethodGet, "/config", ""); strings.Contains(a.body, `"share"`) != want {
				t.Error(a.body)
			}
		})
	}
}
