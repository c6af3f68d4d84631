package exec

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/sandbox"
)

// TestGuardOfFastCommand: what the command changes before the guard learns that existing paths are read-only is
// reported.
func TestGuardOfFastCommand(t *testing.T) {
	dir := t.TempDir()
	link, nested, old := filepath.Join(dir, ".envrc"), filepath.Join(dir, "a", ".vscode"), filepath.Join(dir, "config")
	makeNested := func() {
		if err := os.MkdirAll(nested, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path string) {
		if err := os.WriteFile(path, []byte("new"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	makeNested()
	write(old)
	if err := os.Symlink("missing", link); err != nil {
		t.Fatal(err)
	}
	policy := sandbox.Policy{Write: []string{dir}, ReadOnly: []string{link, old}, Nested: []string{nested}}
	g := newProtectedGuard(policy, filepath.Join(t.TempDir(), "held"), slog.New(slog.DiscardHandler))
	write(link)
	if err := os.Rename(filepath.Dir(nested), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	makeNested()
	g.skipExisting()
	write(old) // the kernel would prevent it: not compared
	note := g.check()
	for path, want := range map[string]bool{link: true, nested: true, old: false} {
		if got := strings.Contains(note, path+" was changed"); got != want {
			t.Errorf("%s reported: %t, want %t: %s", path, got, want, note)
		}
	}
}
