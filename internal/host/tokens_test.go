package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/auth"
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
	for i, step := range []struct{ refused, want string }{{"", "token-1"}, {"", "token-1"}, {"token-1", "token-2"}, {"token-1", "token-2"}, {"", "token-2"}} {
		process := shared(auth.New(dir, os.Getenv), copilotID)
		got, expires, err := process(t.Context(), step.refused, fetch)
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
	if _, _, err := shared(login, copilotID)(t.Context(), "", fetch); err == nil || !strings.Contains(err.Error(), "cairn auth login github-copilot") {
		t.Errorf("after the logout: %v", err)
	}
}

// A login at GitHub is exchanged through the store that keeps it; a token of the environment is not.
func TestCopilotKeepsWhatItFetches(t *testing.T) {
	var table tokens
	if table.copilot("gho", "", auth.New(t.TempDir(), os.Getenv)).Shared == nil || table.copilot("other", "", nil).Shared != nil {
		t.Error("the wrong one is shared")
	}
}
