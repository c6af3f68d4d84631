package project

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// New directories have the permissions of the source, so that nobody else can read what is in them.
func TestCopyChangesKeepsDirectoryModes(t *testing.T) {
	finder, from, to := twoTrees(t)
	writeFiles(t, from.Worktree, map[string]string{"secret/deep/key": "key"})
	if err := os.Chmod(filepath.Join(from.Worktree, "secret"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(from.Worktree, "secret", "deep"), 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := finder.CopyChanges(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"secret": 0o700, "secret/deep": 0o750} {
		info, err := os.Stat(filepath.Join(to.Worktree, name))
		if err != nil || info.Mode().Perm()&^want != 0 {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

// A working tree that was removed meanwhile, and changes that git was told not to show, are reasons for people.
func TestCopyChangesReasons(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, from, to Project)
		want    string
	}{
		"no destination": {func(t *testing.T, _, to Project) {
			if err := os.RemoveAll(to.Worktree); err != nil {
				t.Fatal(err)
			}
		}, "does not exist any more"},
		"no source": {func(t *testing.T, from, _ Project) {
			rename(t, from.Worktree, from.Worktree+"-away")
		}, "does not exist any more"},
		"broken repository": {func(t *testing.T, from, _ Project) {
			writeFiles(t, from.Worktree, map[string]string{".git/HEAD": "nonsense"})
		}, "cannot be copied"},
		"hidden change": {func(t *testing.T, from, _ Project) {
			runGit(t, from.Worktree, "update-index", "--assume-unchanged", "a.txt")
			writeFiles(t, from.Worktree, map[string]string{"a.txt": "mine"})
		}, "a.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			finder, from, to := twoTrees(t)
			c.prepare(t, from, to)
			_, err := finder.CopyChanges(t.Context(), from, to)
			e, ok := errors.AsType[*session.Error](err)
			if !ok || e.Code == session.CodeInternal || !strings.Contains(e.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// A copy whose removal from the source was cut off is completed: what both have leaves the source, and nothing else does.
func TestCompleteCopy(t *testing.T) {
	finder, from, to := twoTrees(t)
	// A process that has ended left a new content, a second name of a file, and the old content of a file that is back.
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	side := func(kind string, i int) string {
		return fmt.Sprintf(".cairn-move-%s-%d-ID-%d", kind, child.Process.Pid, i)
	}
	both := map[string]string{"a.txt": "changed", "new/file": "new", "data.bin": "\x00\x03"}
	writeFiles(t, from.Worktree, both)
	writeFiles(t, to.Worktree, both)
	writeFiles(t, from.Worktree, map[string]string{
		"data.bin": "\x00\x01", side("new", 1): "one\ntwo\n", side("old", 2): "\x00\x03", "mine.txt": "of later",
	})
	if err := os.Link(filepath.Join(from.Worktree, "a.txt"), filepath.Join(from.Worktree, side("old", 1))); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, from.Worktree, map[string]string{side("old", 3): "the only copy"})

	left, err := finder.CompleteCopy(t.Context(), from, to)
	if err != nil || len(left) != 1 || left[0] != "mine.txt" {
		t.Errorf("left %q, error %v", left, err)
	}
	now := readFiles(t, from.Worktree)
	for name, want := range map[string]string{
		"a.txt": "one\ntwo\n", "data.bin": "\x00\x01", "mine.txt": "of later", side("old", 3): "the only copy",
	} {
		if now[name] != want {
			t.Errorf("the source has %q in %s, want %q", now[name], name, want)
		}
	}
	for _, name := range []string{"new/file", side("new", 1), side("old", 1), side("old", 2)} {
		if text, found := now[name]; found {
			t.Errorf("the source still has %s: %q", name, text)
		}
	}
	if there := readFiles(t, to.Worktree); there["a.txt"] != "changed" || there["new/file"] != "new" {
		t.Errorf("the destination has %q", there)
	}
}
