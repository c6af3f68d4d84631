package host

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
)

// scopedClient sends requests of callers with a scope to an owner in this process.
type scopedClient struct {
	t    *testing.T
	http http.Client
}

func newScopedClient(t *testing.T, o client.Options) (scopedClient, *ownerServer) {
	t.Helper()
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := startOwnerServer(t.Context(), lease, dirs, client.ServeOptions{Options: o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return scopedClient{t, http.Client{Transport: api.Local(r.local)}}, r
}

// send returns the status and the body of the answer. DIR in the route and the body is the directory.
func (c scopedClient) send(role caller.Role, route, body, dir string) (int, string) {
	c.t.Helper()
	method, path, _ := strings.Cut(strings.ReplaceAll(route, "DIR", url.QueryEscape(dir)), " ")
	ctx := caller.NewContext(c.t.Context(), caller.Caller{Kind: caller.KindToken, Token: "1f", Role: role})
	req, err := http.NewRequestWithContext(
		ctx, method, "http://localhost"+path, strings.NewReader(strings.ReplaceAll(body, "DIR", dir)),
	)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if !strings.Contains(route+body, "DIR") {
		req.Header.Set("X-Opencode-Directory", url.PathEscape(dir))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// routesWithDirectory are routes of the scopes read and prompt that use the directory of the request.
var routesWithDirectory = []struct {
	role        caller.Role
	route, body string
}{
	{caller.Read, "GET /file/content?path=secret.txt&directory=DIR", ""},
	{caller.Read, "GET /file/content?path=secret.txt", ""},
	{caller.Read, "GET /file?path=.&directory=DIR", ""},
	{caller.Read, "GET /find?pattern=s3cret&directory=DIR", ""},
	{caller.Read, "GET /find/file?query=secret&directory=DIR", ""},
	{caller.Read, "GET /path?directory=DIR", ""},
	{caller.Read, "GET /project/current?directory=DIR", ""},
	{caller.Read, "GET /config?directory=DIR", ""},
	{caller.Read, "GET /agent", ""},
	{caller.Read, "GET /vcs?directory=DIR", ""},
	{caller.Read, "GET /vcs/diff/raw?directory=DIR", ""},
	{caller.Read, "GET /session?directory=DIR", ""},
	{caller.Read, "GET /api/location?location%5Bdirectory%5D=DIR", ""},
	{caller.Read, "GET /api/agent", ""},
	{caller.Read, "GET /api/fs/list?location%5Bdirectory%5D=DIR", ""},
	{caller.Read, "GET /api/fs/find?query=secret&location%5Bdirectory%5D=DIR", ""},
	{caller.Read, "GET /api/context/explain?path=secret.txt&location%5Bdirectory%5D=DIR", ""},
	{caller.Prompt, "POST /session?directory=DIR", "{}"},
	{caller.Prompt, "POST /session", "{}"},
	{caller.Prompt, "POST /api/session", `{"location":{"directory":"DIR"}}`},
}

// Callers with the scopes read and prompt reach the directories of sessions and of their projects only, by every way to
// name a directory, and make no others known. Callers who may approve reach all.
func TestScopesReachKnownDirectories(t *testing.T) {
	home, _ := newHome(t)
	c, r := newScopedClient(t, optionsOf(home))
	for _, dir := range []string{"known/below", "other", "repo/a", "repo/b", ".ssh"} {
		write(t, filepath.Join(home, dir, "secret.txt"), "s3cret")
	}
	write(t, filepath.Join(home, "secret.txt"), "s3cret")
	write(t, filepath.Join(home, "known", "secret.txt"), "s3cret")
	runGit(t, filepath.Join(home, "repo"), "git init -q; git add .; git commit -qm a")
	link := filepath.Join(home, "known", "link")
	if err := os.Symlink(filepath.Join(home, "other"), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"known", "repo/a"} {
		status, body := c.send(caller.Approve, "POST /session?directory=DIR", "{}", filepath.Join(home, dir))
		if status != 200 {
			t.Fatal(status, body)
		}
	}
	outside := []string{
		home, filepath.Join(home, "other"), filepath.Join(home, ".ssh"), link, "/", "/etc", "/proc/self/root",
	}
	inside := []string{"project", "known", "known/below", "repo", "repo/a", "repo/b"}
	for _, x := range routesWithDirectory {
		for _, dir := range outside {
			status, body := c.send(x.role, x.route, x.body, dir)
			refused := strings.Contains(body, caller.ReasonScope) && strings.Contains(body, "needs the scope approve")
			if status != 403 || !refused || strings.Contains(body, "s3cret") {
				// The others would search all of "/".
				t.Fatalf("%s in %s with %s: %d %.300s", x.route, dir, x.role, status, body)
			}
		}
		for _, dir := range inside {
			if status, body := c.send(x.role, x.route, x.body, filepath.Join(home, dir)); status == 403 {
				t.Errorf("%s in %s with %s: %d %.300s", x.route, dir, x.role, status, body)
			}
		}
	}
	for dir := range r.locations.slots {
		if dir == filepath.Join(home, "other") || dir == "/etc" {
			t.Errorf("%s became a location", dir)
		}
	}
	for _, x := range routesWithDirectory {
		if status, body := c.send(caller.Approve, x.route, x.body, filepath.Join(home, "other")); status == 403 {
			t.Errorf("%s with approve: %d %.300s", x.route, status, body)
		}
	}
}
