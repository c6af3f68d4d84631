package installation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// calls records what a manager runs. The call that begins with failing fails.
type calls struct {
	argv    []string
	failing string
	output  string
}

func (c *calls) run(_ context.Context, argv ...string) (string, error) {
	line := strings.Join(argv, " ")
	c.argv = append(c.argv, line)
	if c.failing != "" && strings.HasPrefix(line, c.failing) {
		return "", errors.New("it failed")
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
		"no systemd": {"linux", "", "systemctl", serviceState{Manager: "systemd"}},
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
