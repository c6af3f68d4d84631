package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/record/store"
)

// The sessions of a renamed project are those of its new directory, and prompts of both contracts work there.
func TestRenamedProjectOverHTTP(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	if fileattr.ReadIdentity(home) == "" {
		t.Skip("the file system does not tell when a directory was made")
	}
	was, now := filepath.Join(home, "project"), filepath.Join(home, "renamed")
	runGit(t, was, `git init -q; git commit -q --allow-empty -m one`)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	v1, v2 := create(t, c, "First"), create(t, c, "Second")
	if err := os.Rename(was, now); err != nil {
		t.Fatal(err)
	}
	there := *c.API
	there.Directory = now
	send := func(method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, there.Base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", there.Auth.Header())
		r.Header.Set("X-Opencode-Directory", now)
		resp, err := there.HTTP.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %s %s, %v", method, path, resp.Status, text, err)
		}
		return string(text)
	}

	// V1: the list, a command and a prompt.
	list := send(http.MethodGet, "/session?directory="+url.QueryEscape(now), "")
	if !strings.Contains(list, string(v1)) || !strings.Contains(list, string(v2)) {
		t.Errorf("the list of the new directory: %s", list)
	}
	said := send(http.MethodPost, "/session/"+string(v1)+"/message",
		`{"model":{"providerID":"mock","modelID":"main"},"parts":[{"type":"text","text":"go"}]}`)
	if !strings.Contains(said, "Hello.") || !strings.Contains(said, now) {
		t.Errorf("the answer over V1: %s", said)
	}
	// V2: a prompt, and the list.
	if _, err := there.Prompt(t.Context(), v2, say("go")); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, c, v2); got != "Hello." {
		t.Errorf("the answer over V2: %q", got)
	}
	for _, id := range []string{string(v1), string(v2)} {
		if list := send(http.MethodGet, "/session?directory="+url.QueryEscape(now), ""); strings.Count(list, id) != 1 {
			t.Errorf("the list after the prompts: %s", list)
		}
	}
	page, err := there.Sessions(t.Context(), api.SessionQuery{Directory: now})
	if err != nil || len(page.Data) != 2 {
		t.Errorf("the list of V2: %v, %v", page.Data, err)
	}
}

// TestRenamedProjectsPause: a list of projects finds one that was renamed, but does not look again for a while, and an error
// fails no list.
func TestRenamedProjectsPause(t *testing.T) {
	t.Parallel()
	home, _ := newHome(t)
	if fileattr.ReadIdentity(home) == "" {
		t.Skip("the file system does not tell when a directory was made")
	}
	w := openOwnerOf(t, optionsOf(home))
	var logged strings.Builder
	w.locations.logger = slog.New(slog.NewTextHandler(&logged, nil))
	at := filepath.Join(home, "project")
	if _, err := w.locations.projects.Find(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	list := projectRecords{w.locations}
	for _, c := range []struct {
		to         string
		pause      time.Duration // since the last look
		isFollowed bool
	}{{"one", renamedPause, true}, {"two", renamedPause / 2, false}, {"three", renamedPause, true}} {
		to := filepath.Join(home, c.to)
		if err := os.Rename(at, to); err != nil {
			t.Fatal(err)
		}
		at = to
		w.locations.renamedAt.Store(time.Now().Add(-c.pause).UnixMilli())
		list.FollowRenamed(t.Context())
		var records []store.Project
		err := w.store.View(t.Context(), func(r store.Reader) (err error) {
			records, err = r.Projects(store.ProjectQuery{})
			return err
		})
		if err != nil || len(records) != 1 || (records[0].Path == to) != c.isFollowed {
			t.Errorf("%s: %v, %v", c.to, records, err)
		}
	}
	w.locations.renamedAt.Store(0)
	w.locations.projects = &project.Finder{Store: brokenStore{}}
	list.FollowRenamed(t.Context())
	if !strings.Contains(logged.String(), "no store today") {
		t.Errorf("the log says %q", logged.String())
	}
}

// brokenStore reads nothing.
type brokenStore struct{ store.Store }

func (brokenStore) View(context.Context, func(store.Reader) error) error {
	return errors.New("no store today")
}
