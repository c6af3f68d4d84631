package models

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// Processes share the tokens that a login at GitHub is exchanged for: one fetches, the others find it; a refused one is
// fetched anew once; and the login itself stays.
func TestTokensAreShared(t *testing.T) {
	dir := t.TempDir()
	login := auth.New(dir, os.Getenv)
	if err := login.SetToken(t.Context(), copilotID, auth.Token{Refresh: auth.NewSecret("gho")}); err != nil {
		t.Fatal(err)
	}
	fetched := 0
	fetch := func(context.Context) (string, time.Time, error) {
		fetched++
		return "token-" + string(rune('0'+fetched)), time.Now().Add(30 * time.Minute), nil
	}
	for i, step := range []struct{ refused, want string }{
		{"", "token-1"},
		{"", "token-1"},
		{"token-1", "token-2"},
		{"token-1", "token-2"},
		{"", "token-2"},
	} {
		process := shareWithLogin(auth.New(dir, os.Getenv), copilotID)
		got, expires, err := process(t.Context(), "", step.refused, fetch)
		if err != nil || got != step.want || time.Until(expires) < 29*time.Minute {
			t.Errorf("%d: %s until %s, %v; want %s", i, got, expires, err, step.want)
		}
	}
	c, _, err := login.Get(copilotID)
	if err != nil || c.Refresh.Reveal() != "gho" || c.Kind != auth.KindOAuth {
		t.Errorf("the login is gone: %v %v", c, err)
	}
	info, err := os.Stat(filepath.Join(dir, auth.FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := login.Remove(t.Context(), copilotID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := shareWithLogin(login, copilotID)(t.Context(), "", "", fetch); err == nil ||
		!strings.Contains(err.Error(), "cairn auth login github-copilot") {
		t.Errorf("after the logout: %v", err)
	}
}

// What is fetched for a token of the environment is kept for others that have the same token, in a file for the owner
// alone.
func TestTokensOfTheEnvironmentAreShared(t *testing.T) {
	dir := t.TempDir()
	n := 0
	fetch := func(context.Context) (string, time.Time, error) {
		n++
		return "token-" + string(rune('0'+n)), time.Now().Add(30 * time.Minute), nil
	}
	for i, step := range []struct{ secret, refused, want string }{
		{"gho", "", "token-1"},
		{"gho", "", "token-1"},
		{"other", "", "token-2"},
		{"gho", "token-1", "token-3"},
		{"gho", "token-1", "token-3"},
		{"other", "", "token-2"},
	} {
		got, expires, err := shareInFile(auth.New(dir, os.Getenv), copilotID)(t.Context(), step.secret, step.refused, fetch)
		if err != nil || got != step.want || time.Until(expires) < 29*time.Minute {
			t.Errorf("%d: %s until %s, %v; want %s", i, got, expires, err, step.want)
		}
	}
	path := filepath.Join(dir, auth.SharedName)
	raw, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(raw), "gho") {
		t.Errorf("%v %s %v", info, raw, err)
	}
	if known, _, err := auth.New(dir, os.Getenv).ListSecrets(t.Context()); err != nil || len(known) != 2 {
		t.Errorf("what is left out of exports: %d %v", len(known), err)
	}
	for _, broken := range []string{"{", `{"x": 1}`, "null", ""} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		before := n
		for range 2 {
			if _, _, err := shareInFile(auth.New(dir, os.Getenv), copilotID)(t.Context(), "gho", "", fetch); err != nil ||
				n != before+1 {
				t.Errorf("%q: fetched %d times, %v", broken, n-before, err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := shareInFile(auth.New(filepath.Join(dir, "file"), os.Getenv), copilotID)(t.Context(), "gho", "",
		fetch); err != nil ||
		got == "" {
		t.Errorf("where nothing can be kept: %q %v", got, err)
	}
}

// The credentials of Google Cloud and of GitHub are asked for a token once by all processes, and again for other
// credentials.
func TestProcessesShareTokensOfTheirEnvironment(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(r.URL.Path, "/copilot_internal") {
			fmt.Fprintf(w, `{"token":"token-%d","expires_at":%d}`, asked, time.Now().Add(time.Hour).Unix())
			return
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, asked)
	}))
	defer s.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "credentials.json")
	getenv := func(name string) string { return map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": file}[name] }
	for i, step := range []struct{ google, git, want string }{
		{"r1", "", "token-1"},
		{"r1", "", "token-1"},
		{"r2", "", "token-2"},
		{"r1", "", "token-1"},
		{"", "gho", "token-3"},
		{"", "gho", "token-3"},
		{"", "ghp", "token-4"},
		{"", "gho", "token-3"},
	} {
		if err := os.WriteFile(file, fmt.Appendf(nil, `{"type":"authorized_user","refresh_token":%q,"token_uri":%q}`,
			step.google, s.URL), 0o600); err != nil {
			t.Fatal(err)
		}
		process, store := &tokenCache{}, auth.New(dir, getenv)
		var c provider.Credential = process.googleCredential(getenv, store)
		if step.git != "" {
			c = process.copilotCredential(step.git, s.URL, shareInFile(store, copilotID))
		}
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		if err := c.Authorize(t.Context(), r, nil); err != nil || r.Header.Get("Authorization") != "Bearer "+step.want {
			t.Errorf("%d: %v %v", i, r.Header, err)
		}
	}
}
