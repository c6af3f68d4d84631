package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
)

// Git objects that stay because a command is at work in their worktree, and those of a removal that was cancelled, are
// removed later. Another worktree does not wait for them.
func TestGitObjectsAreRemovedLater(t *testing.T) {
	git := findGit()
	if git == "" {
		t.Skip("there is no git")
	}
	data := t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	logger := slog.New(slog.DiscardHandler)
	s := newSnapshots(data, logger)
	w := &owner{store: store, locations: &locationCache{snapshots: s}, logger: logger}
	// Two worktrees with an object that no tree has.
	var dirs, objects []string
	for _, name := range []string{"one", "two"} {
		dir := filepath.Join(s.dir, "worktrees", name)
		dirs = append(dirs, dir)
		gitDir := filepath.Join(dir, "git")
		if out, err := exec.Command(git, "init", "--quiet", "--bare", gitDir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		cmd := exec.Command(git, "--git-dir", gitDir, "hash-object", "-w", "--stdin")
		cmd.Stdin = strings.NewReader(name)
		id, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, filepath.Join(gitDir, "objects", string(id[:2]), strings.TrimSpace(string(id[2:]))))
	}
	isGone := func(i int) bool {
		_, err := os.Stat(objects[i])
		return errors.Is(err, os.ErrNotExist)
	}
	release := s.blobs.HoldCaptures(dirs[0])
	// A removal that is cancelled leaves both.
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	left := removals{}
	left.worktrees, _ = s.pruneCaptures(cancelled, dirs)
	if !slices.Equal(left.worktrees, dirs) {
		t.Errorf("a cancelled removal leaves %q", left.worktrees)
	}
	// The deletion of a session removes what it can.
	for _, ids := range [][]string{{"ses_deleted"}, nil} {
		left = w.removeContents(t.Context(), left, ids)
		if !slices.Equal(left.worktrees, dirs[:1]) || isGone(0) || !isGone(1) {
			t.Fatalf("with a command at work, sessions %q: left %q, gone %v and %v", ids, left.worktrees, isGone(0), isGone(1))
		}
	}
	release()
	left = w.removeContents(t.Context(), left, nil)
	if len(left.worktrees) > 0 || !isGone(0) {
		t.Errorf("after the command: left %q, gone %v", left.worktrees, isGone(0))
	}
}
