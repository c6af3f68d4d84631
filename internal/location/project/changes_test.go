package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// With more filters than can be disabled nothing is compared and no filter runs.
func TestTooManyFilters(t *testing.T) {
	repo := repository(t)
	canary := filepath.Join(t.TempDir(), "ran")
	for name, text := range map[string]string{".gitattributes": "* filter=evil\n", "a.txt": "one\n"} {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, repo, "add", ".")
	commit(t, repo, "one")
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "[filter \"%s%d\"]\n\tclean = cat\n", strings.Repeat("x", 50_000), i)
	}
	fmt.Fprintf(&b, "[filter \"evil\"]\n\tclean = touch %s; cat\n", canary)
	f, err := os.OpenFile(filepath.Join(repo, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(b.String()); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repo, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	finder := &Finder{}
	p := find(t, finder, repo)
	_, errChanges := finder.ListChanges(t.Context(), p, Compare{Patches: true})
	_, errDiff := finder.Diff(t.Context(), p)
	errPatch := finder.Patch(t.Context(), p, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n")
	if errChanges == nil || errDiff == nil || errPatch == nil {
		t.Error(errChanges, errDiff, errPatch)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a filter ran")
	}
}

// The patch of an untracked file is the one that git would write.
func TestPatchOfNewFile(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	for name, text := range map[string]string{
		"one.txt": "one\n", "two.txt": "one\ntwo\n", "open.txt": "no end",
		"empty.txt": "",
	} {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	finder := &Finder{}
	changes, err := finder.ListChanges(t.Context(), find(t, finder, repo), Compare{Patches: true})
	if err != nil || len(changes) != 4 {
		t.Fatal(changes, err)
	}
	runGit(t, repo, "add", "--intent-to-add", ".")
	for _, c := range changes {
		if want := runGit(t, repo, "diff", "--abbrev=7", "--", c.File); strings.TrimSpace(c.Patch) != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.File, c.Patch, want)
		}
	}
}

// The difference as one text carries new files, binary ones too, and renamed ones, and leaves the index as it is.
func TestDiffIsComplete(t *testing.T) {
	repo, other := repository(t), repository(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{repo, other} {
		if err := os.WriteFile(filepath.Join(dir, "old.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		runGit(t, dir, "add", ".")
		commit(t, dir, "one")
	}
	runGit(t, repo, "mv", "old.txt", "new.txt")
	write("fresh.txt", "fresh\n")
	write("blob.bin", "\x00\x01")
	write(":(top)x\nü.txt", "odd\n")
	write("ignored.log", "no\n")
	write(".gitignore", "*.log\n")
	status := runGit(t, repo, "status", "--porcelain")
	finder := &Finder{}
	text, err := finder.Diff(t.Context(), find(t, finder, repo))
	if err != nil || strings.Contains(text, "rename") {
		t.Fatal(err, text)
	}
	if after := runGit(t, repo, "status", "--porcelain"); after != status {
		t.Errorf("the index changed: %s, was %s", after, status)
	}
	if err := finder.Patch(t.Context(), find(t, finder, other), text); err != nil {
		t.Fatal(err, text)
	}
	for name, want := range map[string]string{
		"new.txt": "one\ntwo\n", "fresh.txt": "fresh\n", "blob.bin": "\x00\x01", ":(top)x\nü.txt": "odd\n",
	} {
		if got, err := os.ReadFile(filepath.Join(other, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"old.txt", "ignored.log"} {
		if _, err := os.Stat(filepath.Join(other, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}

// TestDiffWithoutCommits: a repository without commits is compared with the empty tree.
func TestDiffWithoutCommits(t *testing.T) {
	repo := t.TempDir()
	runGit(t, repo, "init", "-q")
	if err := os.WriteFile(filepath.Join(repo, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	finder := &Finder{}
	text, err := finder.Diff(t.Context(), find(t, finder, repo))
	if err != nil || !strings.Contains(text, "+one") {
		t.Errorf("%v: %q", err, text)
	}
}

// Each patch is assigned to its own file, also after a file that became a link (two pieces of git's diff) and one that
// is no longer tracked but exists (listed twice by git).
func TestPatchesMatchFiles(t *testing.T) {
	repo := repository(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kept.txt", "link.txt", "über.txt"} {
		write(name, "one\n")
	}
	runGit(t, repo, "add", ".")
	commit(t, repo, "one")
	write("über.txt", "two\n")
	runGit(t, repo, "rm", "-q", "--cached", "kept.txt")
	if err := os.Remove(filepath.Join(repo, "link.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("kept.txt", filepath.Join(repo, "link.txt")); err != nil {
		t.Fatal(err)
	}
	finder := &Finder{}
	changes, err := finder.ListChanges(t.Context(), find(t, finder, repo), Compare{Patches: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.File+" "+c.Status)
		for line := range strings.Lines(c.Patch) {
			if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") {
				got = append(got, strings.TrimSpace(line))
			}
		}
	}
	want := []string{
		"kept.txt deleted", "--- a/kept.txt", "+++ /dev/null",
		"link.txt modified", "--- a/link.txt", "+++ /dev/null", "--- /dev/null", "+++ b/link.txt",
		"über.txt modified", "--- a/über.txt", "+++ b/über.txt",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
