package host

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/location/project"
)

// SN-3: sessions in all parts of a repository share one worktree, unless its index is large.
func TestWorktreeOfPart(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{".git/objects", "a"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(root, ".git", "index"), "")
	s := newSnapshots(t.TempDir(), slog.New(slog.DiscardHandler))
	whole := s.findWorktree(project.Project{Worktree: root, Directory: root})
	part := project.Project{Worktree: root, Directory: filepath.Join(root, "a"), Subpath: "a"}
	if s.findWorktree(part) != whole {
		t.Error("a part of a small repository has a worktree of its own")
	}
	if err := os.Truncate(filepath.Join(root, ".git", "index"), 17<<20); err != nil {
		t.Fatal(err)
	}
	if w := s.findWorktree(part); w == whole || w.Root() != whole.Root() {
		t.Error("a part of a large repository is captured as a whole")
	}
}
