package installation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// calls records what a manager runs. The calls that begin with failing fail, for as long as fails says, or for ever
// with 0.
type calls struct {
	argv     []string
	failing  string
	fails    int
	loaded   bool // launchd has an agent
	unloaded int  // calls until an agent that was stopped is gone
	output   string
}

func (c *calls) run(_ context.Context, argv ...string) (string, error) {
	line := strings.Join(argv, " ")
	c.argv = append(c.argv, line)
	if c.failing != "" && strings.HasPrefix(line, c.failing) {
		if c.fails--; c.fails == 0 {
			c.failing = ""
		}
		return "", errors.New("it failed")
	}
	switch {
	case strings.HasPrefix(line, "launchctl bootout"):
		if !c.loaded {
			return "", errors.New("no such process")
		}
		c.unloaded = 3
	case strings.HasPrefix(line, "launchctl bootstrap"):
		if c.loaded {
			return "", errors.New("Bootstrap failed: 5: Input/output error")
		}
		c.loaded = true
	case strings.HasPrefix(line, "launchctl print") && strings.HasSuffix(line, agentLabel) && c.output == "":
		if c.unloaded > 0 {
			c.unloaded--
			c.loaded = c.unloaded > 0
		}
		if !c.loaded {
			return "", errors.New("could not find service")
		}
	}
	return c.output, nil
}

func newTestManager(t *testing.T, system string, c *calls) *manager {
	t.Helper()
	home := t.TempDir()
	m, err := newManager(system, func(name string) string { return map[string]string{"HOME": home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	m.run = c.run
	return m
}

// TestInstallFails: when a command fails, the file of an earlier service is back, and without one there is none.
func TestInstallFails(t *testing.T) {
	for _, tt := range []struct{ system, failing string }{
		{"linux", "systemctl --user show-environment"},
		{"linux", "systemctl --user daemon-reload"},
		{"linux", "systemctl --user enable"},
		{"linux", "systemctl --user restart"},
		{"darwin", "launchctl print"},
		{"darwin", "launchctl bootstrap"},
	} {
		for _, before := range []string{"", "# " + ownMark + "\nold"} {
			c := &calls{failing: tt.failing}
			m := newTestManager(t, tt.system, c)
			if before != "" {
				err := errors.Join(os.MkdirAll(filepath.Dir(m.file), 0o700), os.WriteFile(m.file, []byte(before), 0o600))
				if err != nil {
					t.Fatal(err)
				}
			}
			err := m.install(t.Context(), settings{program: "/new"})
			got, readErr := os.ReadFile(m.file)
			if err == nil || string(got) != before || (readErr == nil) != (before != "") {
				t.Errorf("%s, before %q: %v, the file has %q (%v)", tt.failing, before, err, got, readErr)
			}
		}
	}
}

// TestInstallOver: a service that does not start leaves the one before at work, and launchd has time to end that.
func TestInstallOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for system, start := range map[string]string{"linux": "systemctl --user restart", "darwin": "launchctl bootstrap"} {
			c := &calls{}
			m := newTestManager(t, system, c)
			if err := m.install(t.Context(), settings{program: "/one"}); err != nil {
				t.Fatal(err)
			}
			if err := m.install(t.Context(), settings{program: "/two"}); err != nil {
				t.Fatal(err)
			}
			c.argv, c.failing, c.fails = nil, start, 1
			err := m.install(t.Context(), settings{program: "/three"})
			b, _ := os.ReadFile(m.file)
			if err == nil || strings.Contains(err.Error(), "before") || !strings.Contains(string(b), "/two") ||
				!strings.HasPrefix(c.argv[len(c.argv)-1], start) {
				t.Errorf("%s: %v, the last of %q, %s", system, err, c.argv, b)
			}
			c.failing, c.fails = start, 2
			if err := m.install(t.Context(), settings{program: "/three"}); err == nil || !strings.Contains(err.Error(), "any more") {
				t.Errorf("%s: %v", system, err)
			}
			if err := m.remove(t.Context()); err != nil { // launchd does not have it now
				t.Errorf("%s: %v", system, err)
			}
		}
	})
}

// TestInstallAndRemove: the commands are those of the manager, in their order, and removing leaves nothing.
func TestInstallAndRemove(t *testing.T) {
	c := &calls{}
	m := newTestManager(t, "linux", c)
	if err := m.install(t.Context(), settings{program: "/usr/bin/cairn"}); err != nil {
		t.Fatal(err)
	}
	if err := m.remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"systemctl --user show-environment", "systemctl --user daemon-reload", "systemctl --user enable cairn.service",
		"systemctl --user restart cairn.service", "systemctl --user disable --now cairn.service",
		"systemctl --user daemon-reload",
	}
	if d := cmp.Diff(want, c.argv); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat(m.file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
	if err := m.remove(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestForeignUnit: a unit that a person wrote is neither replaced nor removed.
func TestForeignUnit(t *testing.T) {
	c := &calls{}
	m := newTestManager(t, "linux", c)
	err := errors.Join(os.MkdirAll(filepath.Dir(m.file), 0o700), os.WriteFile(m.file, []byte("[Unit]\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"install": m.install(t.Context(), settings{program: "/new"}), "remove": m.remove(t.Context()),
	} {
		if err == nil || !strings.Contains(err.Error(), "was not written by cairn") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := os.ReadFile(m.file); err != nil || string(b) != "[Unit]\n" {
		t.Errorf("%v: %q", err, b)
	}
}

// TestReadState: what the managers print is understood.
func TestReadState(t *testing.T) {
	for name, tt := range map[string]struct {
		system, output, failing string
		want                    serviceState
	}{
		"running": {
			"linux", "ActiveState=active\nSubState=running\nMainPID=42\nUnitFileState=enabled", "",
			serviceState{Manager: "systemd", Installed: true, Enabled: true, Running: true, State: "active", PID: 42},
		},
		"failed": {
			"linux", "ActiveState=failed\nSubState=failed\nMainPID=0\nUnitFileState=enabled", "",
			serviceState{Manager: "systemd", Installed: true, Enabled: true, State: "failed"},
		},
		"unknown": {
			"linux", "ActiveState=inactive\nSubState=dead\nMainPID=0\nUnitFileState=", "",
			serviceState{Manager: "systemd", State: "inactive"},
		},
		"launchd": {
			"darwin", "gui/501/dev.cairn.serve = {\n\tstate = running\n\tpid = 42\n\tjobs = {\n\t\tstate = exited\n\t}\n}", "",
			serviceState{Manager: "launchd", Installed: true, Enabled: true, Running: true, State: "running", PID: 42},
		},
		"no agent": {"darwin", "", "launchctl", serviceState{Manager: "launchd"}},
	} {
		m := newTestManager(t, tt.system, &calls{output: tt.output, failing: tt.failing})
		got, err := m.readState(t.Context())
		if d := cmp.Diff(tt.want, got); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}
}

// TestOtherSystems: a system without a known manager is refused by name.
func TestOtherSystems(t *testing.T) {
	if _, err := newManager("windows", func(string) string { return "x" }); err == nil ||
		!strings.Contains(err.Error(), "windows") {
		t.Error(err)
	}
}
