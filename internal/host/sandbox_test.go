package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/project"
	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

func TestPatience(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 0, "1500": 1500 * time.Millisecond, "0": 0, "-1": 0, "2m": 0, "9000000000": longestTimeout} {
		getenv := func(name string) string {
			if name == "OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS" {
				return value
			}
			return ""
		}
		if got := commandTimeout(getenv); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

// A process that asks for a sandbox never connects to an owner without one.
func TestSandboxIsNeverSilentlyMissing(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	home, _ := newHome(t)
	bound := optionsOf(home)
	bound.Sandbox = true
	owner := open(t, optionsOf(home))
	_, err := Host{}.Open(t.Context(), bound)
	if !errors.Is(err, &session.Error{Code: session.CodeConflict}) ||
		!strings.Contains(err.Error(), "without a sandbox") {
		t.Error(err)
	}
	closeIt(t, owner)
	owner = open(t, bound)
	closeIt(t, open(t, bound))
	closeIt(t, owner)
	write(t, filepath.Join(home, "config", "cairn.json"), `{"sandbox":{"enabled":true}}`)
	owner = open(t, optionsOf(home))
	write(t, filepath.Join(home, "config", "cairn.json"), `{"sandbox":{"enabled":false}}`)
	closeIt(t, open(t, bound)) // the owner stands by what it said
	closeIt(t, owner)
}

func TestSandboxPolicy(t *testing.T) {
	home := t.TempDir()
	l := &locationCache{
		dirs: config.Directories{
			Home:   home,
			Data:   filepath.Join(home, "data"),
			Config: filepath.Join(home, "config"),
		},
		outputs: &tool.Outputs{Dir: filepath.Join(home, "data", "tool-output")},
	}
	cfg := &config.Config{}
	pr := project.Project{Directory: "/work/sub", Worktree: "/work"}
	if p, err := l.sandboxPolicy(cfg, pr); p != nil || err != nil || l.scratchEnv(p) != nil {
		t.Fatal("a sandbox without a request for it")
	}
	cfg.Sandbox = config.Sandbox{Enabled: true, Network: true, Write: []config.Path{"~/.cargo"}}
	p, err := l.sandboxPolicy(cfg, pr)
	if err != nil || !p.Network ||
		!slices.Equal(p.Write, []string{"/work/sub", "/work", l.scratchDir(), filepath.Join(home, ".cargo")}) {
		t.Fatalf("%+v %v", p, err)
	}
	for _, dir := range []string{"data", "config", ".ssh"} {
		if !slices.Contains(p.Hide, filepath.Join(home, dir)) {
			t.Errorf("%s is not hidden: %v", dir, p.Hide)
		}
	}
	if _, err := os.Stat(l.scratchDir()); err != nil || p.FindExposed() != "" {
		t.Error(err, p.FindExposed())
	}
}
