package cell

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// A permitted path is writable as itself, and a new file by its directory. What holds more than that is not.
func TestListGranted(t *testing.T) {
	top := t.TempDir()
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	home := filepath.Join(top, "home")
	l := Config{
		Dirs:    config.Directories{Home: home, Data: filepath.Join(home, "data"), Config: filepath.Join(home, "config")},
		Outputs: &tool.Outputs{Dir: filepath.Join(home, "data", "tool-output")},
	}
	for _, name := range []string{
		"home/src/other/.git/config", "home/src/other/a.txt", "home/.bashrc", "home/data/x", "home/.aws/x", "home/.ssh/x",
		"home/config/skills/s/SKILL.md", "ref/a", "link/x",
	} {
		write(t, filepath.Join(top, name), "")
	}
	if err := os.Symlink(filepath.Join(home, "data"), filepath.Join(top, "data")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "src", "mine")
	l.Config, l.Project = &config.Config{}, project.Project{Directory: dir, Worktree: dir}
	cells := New(l)
	cells.readable = []string{filepath.Join(top, "ref")}
	limits := grantLimits{home, slices.Concat(cells.Hide, cells.clients), slices.Concat(cells.Show, cells.readable)}
	for path, want := range map[string]string{
		"home/src/other/a.txt": "home/src/other/a.txt", "home/src/other/new": "home/src/other", "home/src": "home/src",
		"home/src/none/new": "", "home": "", "home/new": "", "": "", "/": "", "home/.bashrc": "", "home/.ssh/new": "",
		"home/src/other/.git/config": "", "home/src/other/.git/new": "", "home/data/x": "", "home/.aws/new": "",
		"home/config/skills/s/SKILL.md": "", "ref/a": "", "ref/new": "", "link/new": "link",
	} {
		if path != "/" {
			path = filepath.Join(top, path)
		}
		var expected []string
		if want != "" {
			expected = []string{filepath.Join(top, want)}
		}
		if diff := cmp.Diff(expected, limits.listGranted([]string{path})); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	cell, err := cells.Open(tool.CellRequest{
		Mode: session.SandboxWrites, Granted: []string{filepath.Join(home, "src/other/new")},
	})
	if err != nil {
		t.Fatal(err)
	}
	protected := append(cell.Policy.ReadOnly, cell.Policy.Nested...)
	if got := filepath.Join(home, "src/other/.git/config"); !slices.Contains(protected, got) {
		t.Errorf("%s is not protected: %q", got, protected)
	}
}
