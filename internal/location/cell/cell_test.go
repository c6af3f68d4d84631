package cell

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

func TestCells(t *testing.T) {
	home := t.TempDir()
	l := Config{
		Dirs: config.Directories{
			Home:   home,
			Data:   filepath.Join(home, "data"),
			Config: filepath.Join(home, "config"),
		},
		Outputs: &tool.Outputs{Dir: filepath.Join(home, "data", "tool-output")},
	}
	cfg := &config.Config{}
	cfg.Sandbox = config.Sandbox{Write: []config.Path{"~/.cargo"}}
	const own, other = "ses_01J00000000000000000000000", "ses_01J00000000000000000000001"
	for _, id := range []string{own, other} {
		write(t, filepath.Join(l.Outputs.Dir, "tool_1-"+id), "output")
	}
	l.Config, l.Project = cfg, project.Project{Directory: "/work/sub", Worktree: "/work"}
	cells := New(l)
	writes, err := cells.Open(tool.CellRequest{Mode: session.SandboxWrites, Session: own})
	if err != nil {
		t.Fatal(err)
	}
	scratch := filepath.Join(home, "data", "tmp", own)
	want := []string{"/work/sub", "/work", filepath.Join(home, ".cargo"), scratch}
	if got := writes.Policy.Write[:4]; !slices.Equal(got, want) {
		t.Errorf("it writes to %q", got)
	}
	if !writes.Policy.Network || !slices.Contains(writes.Env, "TMPDIR="+scratch) {
		t.Errorf("%+v", writes)
	}
	if !slices.Contains(writes.Policy.Show, filepath.Join(l.Outputs.Dir, "tool_1-"+own)) ||
		slices.Contains(writes.Policy.Show, filepath.Join(l.Outputs.Dir, "tool_1-"+other)) {
		t.Errorf("it shows %q", writes.Policy.Show)
	}
	strict, err := cells.Open(tool.CellRequest{Mode: session.SandboxStrict, Session: own})
	if err != nil || strict.Policy.Network {
		t.Errorf("%+v %v", strict, err)
	}
	for name, isHidden := range map[string][2]bool{"data": {true, true}, ".aws": {true, true}, ".ssh": {false, true}} {
		path := filepath.Join(home, name)
		got := [2]bool{slices.Contains(writes.Policy.Hide, path), slices.Contains(strict.Policy.Hide, path)}
		if got != isHidden {
			t.Errorf("%s hidden: %v", name, got)
		}
	}
	if _, err := os.Stat(scratch); err != nil || strict.Policy.FindExposed() != "" {
		t.Error(err, strict.Policy.FindExposed())
	}
	if _, err := cells.Open(tool.CellRequest{Mode: session.SandboxWrites, Session: "ses_../../x"}); err == nil {
		t.Error("a session whose name leads out of the folder")
	}
}

// Commands do not change the trusted programs of the project: a plugin that guards would end with a change of what it imports.
func TestTrustedPrograms(t *testing.T) {
	home := t.TempDir()
	claim := &trust.Claim{Root: "/work"}
	claim.Add("lib/helper.ts", []byte("x"), "imported")
	claim.Add(".cairn/plugin/guard.ts", []byte("x"), "a plugin") // protected by its name
	for _, trusted := range []bool{true, false} {
		cfg := &config.Config{Claim: claim, Trusted: trusted}
		cells := New(Config{
			Dirs: config.Directories{Home: home, Data: filepath.Join(home, "data")}, Config: cfg,
			Outputs: &tool.Outputs{Dir: filepath.Join(home, "out")}, Project: project.Project{Directory: "/work", Worktree: "/work"},
		})
		got, err := cells.Open(tool.CellRequest{Mode: session.SandboxWrites})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(got.Policy.ReadOnly, "/work/lib/helper.ts") != trusted {
			t.Errorf("trusted %v: read-only are %q", trusted, got.Policy.ReadOnly)
		}
	}
}

// In the home directory, in a directory that contains it, and in the root directory, commands write to their own
// folders and to those that the user configured, and everything that is hidden stays so.
func TestCellsInHome(t *testing.T) {
	home := t.TempDir()
	l := Config{
		Dirs:    config.Directories{Home: home, Data: filepath.Join(home, "data"), Config: filepath.Join(home, "config")},
		Outputs: &tool.Outputs{Dir: filepath.Join(home, "data", "tool-output")},
	}
	closed := false
	cfg := &config.Config{}
	cfg.Sandbox = config.Sandbox{Write: []config.Path{"~/.cargo"}, Sockets: &closed}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal("link the home directory:", err)
	}
	for dir, want := range map[string]bool{
		home: true, filepath.Dir(home): true, "/": true, link: true, filepath.Join(home, "project"): false,
	} {
		l.Config, l.Project = cfg, project.Project{Directory: dir}
		cells := New(l)
		cell, err := cells.Open(tool.CellRequest{Mode: session.SandboxWrites})
		if err != nil {
			t.Fatal("open the cell:", err)
		}
		isWritable := slices.Contains(cell.Policy.Write, dir)
		if cells.NoProject != want || isWritable == want || cell.Policy.FindExposed() != "" ||
			!slices.Contains(cell.Policy.Write, filepath.Join(home, ".cargo")) || !cell.Policy.NoLocalSockets {
			t.Errorf("%s: %t %q, exposed %q", dir, cells.NoProject, cell.Policy.Write, cell.Policy.FindExposed())
		}
		for _, own := range cell.Own {
			if !slices.Contains(cell.Policy.Write, own) {
				t.Errorf("%s: it cannot write to %s", dir, own)
			}
		}
	}
}

// Caches of commands are removed when no command has used them for a while, read-only files in them too.
func TestRemoveUnusedCaches(t *testing.T) {
	home := t.TempDir()
	l := Config{
		Dirs: config.Directories{Data: filepath.Join(home, "data"), Cache: filepath.Join(home, "cache")},
	}
	now := time.Now()
	if err := RemoveUnusedCaches(l.Dirs, now); err != nil { // there is no folder yet
		t.Error(err)
	}
	for name, age := range map[string]time.Duration{"old": cacheAge + time.Hour, "new": cacheAge - time.Hour} {
		dir := filepath.Join(cachesDir(l.Dirs), name)
		write(t, filepath.Join(dir, "go-mod", "file"), "x")
		if err := errors.Join(
			os.Chmod(filepath.Join(dir, "go-mod"), 0o555), os.Chtimes(dir, now, now.Add(-age)),
		); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveUnusedCaches(l.Dirs, now); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(cachesDir(l.Dirs))
	if err != nil || len(left) != 1 || left[0].Name() != "new" {
		t.Errorf("%v %v", left, err)
	}
	_ = os.Chmod(filepath.Join(cachesDir(l.Dirs), "new", "go-mod"), 0o700) //nolint:gosec // so that it can be removed
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
