package project

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// twoTrees returns a repository with some files, and a linked worktree of it.
func twoTrees(t *testing.T) (finder *Finder, source, destination Project) {
	t.Helper()
	repo := repository(t)
	writeFiles(t, repo, map[string]string{
		"a.txt": "one\ntwo\n", "gone.txt": "gone\n", "data.bin": "\x00\x01", ".gitignore": "ignored\n", "d/deep.txt": "deep\n",
	})
	runGit(t, repo, "add", ".")
	commit(t, repo, "one")
	linked := filepath.Join(t.TempDir(), "linked")
	runGit(t, repo, "worktree", "add", "--quiet", "--detach", linked)
	finder = &Finder{}
	return finder, find(t, finder, filepath.Join(repo, "d")), find(t, finder, linked)
}

// writeFiles writes files; those with the content "-" are removed.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		switch {
		case err == nil && text == "-":
			err = os.Remove(path)
		case err == nil:
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// readFiles returns the files of a working tree by name; links have their target, executable files a mark.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || name == ".git" {
			if d != nil && d.Name() == ".git" && d.IsDir() {
				return filepath.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			out[name] = "-> " + target
			return err
		}
		text, err := os.ReadFile(path)
		out[name] = string(text)
		if info.Mode()&0o100 != 0 {
			out[name] += " (executable)"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Uncommitted changes of all kinds are copied and removed; the index and ignored files stay.
func TestCopyChanges(t *testing.T) {
	finder, from, to := twoTrees(t)
	clean := readFiles(t, from.Worktree)
	writeFiles(t, from.Worktree, map[string]string{
		"a.txt": "one\r\nTWO\r\n", "gone.txt": "-", "data.bin": "\x00\x02", "new/file ü.txt": "new", "staged.txt": "staged\n",
		"ignored": "mine", "empty.txt": "",
	})
	if err := os.Symlink("a.txt", filepath.Join(from.Worktree, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(from.Worktree, "d", "deep.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	runGit(t, from.Worktree, "add", "staged.txt")
	want := readFiles(t, from.Worktree)

	copied, err := finder.CopyChanges(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readFiles(t, from.Worktree)); diff != "" {
		t.Errorf("the source changed: %s", diff)
	}
	delete(want, "ignored")
	if diff := cmp.Diff(want, readFiles(t, to.Worktree)); diff != "" {
		t.Errorf("the destination: %s", diff)
	}
	if err := copied.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(clean)
	left["ignored"] = "mine"
	if diff := cmp.Diff(left, readFiles(t, from.Worktree)); diff != "" {
		t.Errorf("the source afterwards: %s", diff)
	}
	if got := runGit(t, from.Worktree, "diff", "--cached", "--name-only"); strings.TrimSpace(got) != "staged.txt" {
		t.Errorf("the index has %q", got)
	}
	if err := copied.TakeBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(clean, readFiles(t, to.Worktree)); diff != "" {
		t.Errorf("the destination afterwards: %s", diff)
	}
}

// Changes that do not fit change nothing, and a file that changed after the copy keeps all of them in the source.
func TestCopyChangesThatDoNotFit(t *testing.T) {
	finder, from, to := twoTrees(t)
	writeFiles(t, from.Worktree, map[string]string{"a.txt": "one\nTWO\n", "new.txt": "new\n"})
	writeFiles(t, to.Worktree, map[string]string{"new.txt": "theirs\n"})
	before := readFiles(t, to.Worktree)
	if _, err := finder.CopyChanges(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), "new.txt") {
		t.Errorf("the error is %v", err)
	}
	writeFiles(t, to.Worktree, map[string]string{"a.txt": "mine\n", "new.txt": "new\n"})
	if _, err := finder.CopyChanges(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), "a.txt: it is changed there") {
		t.Errorf("the error is %v", err)
	}
	writeFiles(t, to.Worktree, map[string]string{"a.txt": "one\ntwo\n", "new.txt": "theirs\n"})
	if diff := cmp.Diff(before, readFiles(t, to.Worktree)); diff != "" {
		t.Errorf("the destination changed: %s", diff)
	}
	writeFiles(t, to.Worktree, map[string]string{"new.txt": "-"})
	copied, err := finder.CopyChanges(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, from.Worktree, map[string]string{"new.txt": "newer\n"})
	before = readFiles(t, from.Worktree)
	if err := copied.Remove(t.Context()); err == nil || !strings.Contains(err.Error(), "new.txt") {
		t.Errorf("the error is %v", err)
	}
	if diff := cmp.Diff(before, readFiles(t, from.Worktree)); diff != "" {
		t.Errorf("the source changed: %s", diff)
	}
}

// Too large changes, and directories without git, are errors that say so; one working tree needs no copy.
func TestCopyChangesRefused(t *testing.T) {
	finder, from, to := twoTrees(t)
	plain := find(t, finder, t.TempDir())
	big := filepath.Join(from.Worktree, "big")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxCopiedBytes+1); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from, to Project
		want     string
	}{
		"large":           {from, to, "big cannot be taken along: it has more than 256 MiB"},
		"from no git":     {plain, to, "is in no git checkout"},
		"to no git":       {to, plain, "is in no git checkout"},
		"the same":        {from, from, ""},
		"without changes": {to, from, ""},
	} {
		_, err := finder.CopyChanges(t.Context(), c.from, c.to)
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A copy that was cut off goes on: what is there already fits.
func TestCopyChangesAgain(t *testing.T) {
	finder, from, to := twoTrees(t)
	writeFiles(t, from.Worktree, map[string]string{"a.txt": "one\nTWO\n", "gone.txt": "-", "new.txt": "new\n"})
	writeFiles(t, to.Worktree, map[string]string{
		"a.txt": "one\nTWO\n", "gone.txt": "-",
		"d/.cairn-move-new-99999999-1": "cut off",    // beyond the highest number of a process
		".cairn-move-old-99999999-2":   "one\ntwo\n", // of a.txt, which the commit has
		"d/.cairn-move-old-99999999-1": "a second name", fmt.Sprintf(".cairn-move-new-%d-1", os.Getppid()): "at work",
	})
	copied, err := finder.CopyChanges(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	if err := copied.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := readFiles(t, to.Worktree)
	if _, found := left[".cairn-move-old-99999999-2"]; found {
		t.Error("what the commit has is still beside the file")
	}
	if left["d/.cairn-move-new-99999999-1"] != "" || left["d/.cairn-move-old-99999999-1"] == "" ||
		left[fmt.Sprintf(".cairn-move-new-%d-1", os.Getppid())] == "" {
		t.Errorf("the destination has %q", left)
	}
	got := readFiles(t, from.Worktree)
	if got["a.txt"] != "one\ntwo\n" || got["gone.txt"] != "gone\n" || got["new.txt"] != "" {
		t.Errorf("the source has %q", got)
	}
}

// A write that fails in the middle changes nothing, also not what the destination had changed itself.
func TestCopyChangesToAFullDisk(t *testing.T) {
	finder, from, to := twoTrees(t)
	writeFiles(t, from.Worktree, map[string]string{"a.txt": "one\nTWO\n", "d/deep.txt": "DEEP\n", "e/new.txt": "new\n"})
	writeFiles(t, to.Worktree, map[string]string{"data.bin": "mine", "e": "a file where a directory must be"})
	before := readFiles(t, to.Worktree)
	if _, err := finder.CopyChanges(t.Context(), from, to); err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff(before, readFiles(t, to.Worktree)); diff != "" {
		t.Errorf("the destination changed: %s", diff)
	}
	if os.Getuid() == 0 {
		return // permissions do not bind root
	}
	writeFiles(t, to.Worktree, map[string]string{"e": "-"})
	before = readFiles(t, to.Worktree)
	if err := os.Chmod(filepath.Join(to.Worktree, "d"), 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := finder.CopyChanges(t.Context(), from, to); err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff(before, readFiles(t, to.Worktree)); diff != "" {
		t.Errorf("the destination changed: %s", diff)
	}
}

// The directories that only the changes had leave the source with them; others stay, also empty ones.
func TestCopyChangesEmptiesDirectories(t *testing.T) {
	finder, from, to := twoTrees(t)
	writeFiles(t, from.Worktree, map[string]string{"new/a.txt": "a", "new/below/b.txt": "b", "d/deep.txt": "-", "mixed/c.txt": "c"})
	for _, dir := range []string{"mixed/empty", "empty"} {
		if err := os.MkdirAll(filepath.Join(from.Worktree, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	copied, err := finder.CopyChanges(t.Context(), from, to)
	if err == nil {
		err = copied.Remove(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{"new": false, "new/below": false, "mixed/empty": true, "empty": true, "d": true} {
		if got := isDirectory(filepath.Join(from.Worktree, dir)); got != want {
			t.Errorf("the source has %s: %v, want %v", dir, got, want)
		}
	}
	if isDirectory(filepath.Join(to.Worktree, "d")) {
		t.Error("the destination keeps the directory whose only file was removed")
	}
}
