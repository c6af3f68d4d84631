package host

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/tool/search"
)

const plantedKey = "planted-key"

// startPrivateHome starts an owner in a home whose data, state and configuration contain plantedKey.
func startPrivateHome(t *testing.T) (home string, r *ownerServer) {
	t.Helper()
	home, _ = newHome(t)
	for _, name := range []string{
		"data/auth.json", "data/tool-output/tool_1", "data/plans/p.md", "state/log/x.log", "config/secret.md",
		"cache/c.json",
	} {
		write(t, filepath.Join(home, name), `{"planted": {"type": "api", "key": "`+plantedKey+`"}}`)
	}
	for link, to := range map[string]string{"link": "../data", "up": "..", "key": "../data/auth.json"} {
		if err := os.Symlink(to, filepath.Join(home, "project", link)); err != nil {
			t.Fatal(err)
		}
	}
	o := optionsOf(home)
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	r, err = startOwnerServer(t.Context(), lease, dirs, client.ServeOptions{Options: o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.stop(t.Context()) })
	return home, r
}

// TestClientsReadNoPrivateFiles: no directory, path, link or search over HTTP leads to cairn's own files.
func TestClientsReadNoPrivateFiles(t *testing.T) {
	home, r := startPrivateHome(t)
	client := &http.Client{Transport: api.Local(r.local)}
	secret, err := os.ReadFile(filepath.Join(home, "data", "server.secret"))
	if err != nil {
		t.Fatal(err)
	}
	read := func(target string) (int, string) {
		resp, err := client.Get("http://localhost" + target)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	places := []string{
		home, filepath.Dir(home), filepath.Join(home, "data"), filepath.Join(home, "data", "tool-output"),
		filepath.Join(home, "state"), filepath.Join(home, "config"), filepath.Join(home, "project"),
		filepath.Join(home, "project", "link"), filepath.Join(home, "project", "..", "data"), "/",
	}
	base := filepath.Base(home)
	paths := []string{
		"server.secret", "auth.json", "data/server.secret", "data/auth.json", "data/tool-output/tool_1",
		"data/plans/p.md",
		"state/log/x.log", "config/cairn.json", "config/secret.md", "cache/c.json", "link/auth.json",
		"up/data/auth.json",
		"key", "../data/auth.json", base + "/data/auth.json", filepath.Join(home, "data/auth.json"), "cairn.json",
		"x.log",
		strings.TrimPrefix(filepath.Join(home, "data/auth.json"), "/"), "data", "tool_1",
	}
	for _, place := range places {
		at := "directory=" + url.QueryEscape(place)
		targets := []string{"/find/file?query=auth&" + at, "/find?pattern=" + plantedKey + "&" + at}
		for _, path := range paths {
			targets = append(targets, "/file/content?path="+url.QueryEscape(path)+"&"+at,
				"/file?path="+url.QueryEscape(path)+"&"+at)
		}
		if place == "/" {
			targets = targets[2:] // a search of everything takes too long
		}
		for _, target := range targets {
			_, body := read(target)
			for _, private := range []string{plantedKey, strings.TrimSpace(string(secret)), `"auth.json`, `"apiKey"`} {
				if strings.Contains(body, private) {
					t.Errorf("%s shows %s:\n%.300s", target, private, body)
				}
			}
		}
	}
	code, body := read("/file?path=.&directory=" + url.QueryEscape(filepath.Join(home, "data")))
	if code != http.StatusBadRequest || !strings.Contains(body, "cairn's own data") {
		t.Errorf("a location in the data directory: %d %s", code, body)
	}
	write(t, filepath.Join(home, "project", "mine.txt"), "mine")
	_, body = read("/file/content?path=mine.txt&directory=" + url.QueryEscape(filepath.Join(home, "project")))
	if !strings.Contains(body, "mine") {
		t.Errorf("a file of the project: %s", body)
	}
}

// TestToolsReadNoPrivateFiles: file tools refuse cairn's data and keys before any rule is asked.
func TestToolsReadNoPrivateFiles(t *testing.T) {
	home, r := startPrivateHome(t)
	setup, err := r.locations.load(t.Context(), filepath.Join(home, "project"))
	if err != nil {
		t.Fatal(err)
	}
	for path, refused := range map[string]bool{
		filepath.Join(home, "data/auth.json"): true, "link/server.secret": true, "key": true, "up/data": true,
		filepath.Join(home, "state/log/x.log"): true, filepath.Join(home, "data/new.json"): true,
		filepath.Join(home, "data/tool-output/tool_1"): false, filepath.Join(home, "data/plans/p.md"): false,
		filepath.Join(home, "config/cairn.json"): false, "mine.txt": false,
	} {
		for _, paths := range []search.Config{setup.tools.search, {Paths: setup.tools.file.Paths}} {
			if _, err := paths.Paths.Resolve(path); (err != nil) != refused {
				t.Errorf("%s: %v, want refused: %v", path, err, refused)
			}
		}
	}
}
