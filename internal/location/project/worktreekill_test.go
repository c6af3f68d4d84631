package project

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestRemoveWorktreeInChild is the removal that TestRemoveWorktreeKilled kills.
func TestRemoveWorktreeInChild(t *testing.T) {
	directory := os.Getenv("TEST_WORKTREE")
	if directory == "" {
		t.Skip("it is run by TestRemoveWorktreeKilled")
	}
	if err := fault.FromEnvironment(); err != nil {
		t.Fatal(err)
	}
	f := &Finder{}
	p := find(t, f, os.Getenv("TEST_REPOSITORY"))
	r := Removal{Directory: directory, Force: os.Getenv("TEST_FORCE") != ""}
	if _, err := f.RemoveWorktree(t.Context(), p, r); err != nil {
		fmt.Println("REFUSED:", err)
	}
}

// removeInChild removes a worktree in another process, which is killed at the n-th step. It reports whether it was.
func removeInChild(t *testing.T, p Project, directory string, n int, force bool) (wasKilled bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRemoveWorktreeInChild$", "-test.v")
	cmd.Env = append(os.Environ(), "TEST_REPOSITORY="+p.Worktree, "TEST_WORKTREE="+directory,
		fmt.Sprintf("%s=%s#%d=kill", fault.Variable, fault.WorktreeRemove, n))
	if force {
		cmd.Env = append(cmd.Env, "TEST_FORCE=yes")
	}
	out, err := cmd.CombinedOutput()
	exit, _ := errors.AsType[*exec.ExitError](err)
	if err != nil && (exit == nil || exit.ExitCode() >= 0) || strings.Contains(string(out), "REFUSED") {
		t.Fatalf("step %d: %v\n%s", n, err, out)
	}
	return err != nil
}

// A removal that is killed at any step is completed by the next one, unless something was written meanwhile: then the
// worktree is put back whole. In no case is work lost.
func TestRemoveWorktreeKilled(t *testing.T) {
	for name, c := range map[string]struct {
		before, after map[string]string // files that are written before the removal, and after it was killed
		force         bool
	}{
		"clean":               {},
		"with work":           {before: map[string]string{"new.txt": "new\n", "a.txt": "TWO\n"}, force: true},
		"written after":       {after: map[string]string{"precious.txt": "mine\n"}},
		"ignored after":       {after: map[string]string{"ignored/c.txt": "mine\n"}},
		"with work and after": {before: map[string]string{"new.txt": "new\n"}, after: map[string]string{"b/precious.txt": "p\n"}, force: true},
	} {
		t.Run(name, func(t *testing.T) {
			f, p, parent := newRepository(t)
			writeFiles(t, p.Worktree, map[string]string{"b/b.txt": "b\n", "c.txt": "c\n"})
			runGit(t, p.Worktree, "add", ".")
			commit(t, p.Worktree, "two")
			wasKilled := true
			for n := 1; wasKilled; n++ {
				w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
				writeFiles(t, w.Directory, map[string]string{"ignored/x/y.txt": "x"})
				writeFiles(t, w.Directory, c.before)
				whole := readFiles(t, w.Directory)
				if wasKilled = removeInChild(t, p, w.Directory, n, c.force); wasKilled {
					ref := checkKilledRemoval(t, killedRemoval{f, p, w, whole}, c.after, c.force)
					checkTold(t, p, ref, n, c.before)
				} else if n < 10 {
					t.Errorf("only %d steps were tried", n)
				}
				removed := filepath.Join(parent, "fix")
				_, errThere := os.Lstat(removed)
				_, errAside := os.Lstat(removed + removedSuffix)
				list, err := f.ListWorktrees(t.Context(), p)
				branches := runGit(t, p.Worktree, "branch", "--format=%(refname:short)")
				if errThere == nil || errAside == nil || err != nil || len(list) != 0 || branches != "main" {
					t.Fatalf("step %d: %v, %v, %v, %v, %s", n, errThere, errAside, err, list, branches)
				}
				saved := runGit(t, p.Worktree, "for-each-ref", "--format=%(refname)", "refs/cairn/worktrees")
				for path, text := range c.before {
					if !isSaved(t, p, saved, path, text) {
						t.Errorf("step %d: %s is lost", n, path)
					}
				}
				for _, ref := range strings.Fields(saved) {
					runGit(t, p.Worktree, "update-ref", "-d", ref)
				}
			}
		})
	}
}

// killedRemoval is a worktree whose removal was killed, with its files before that.
type killedRemoval struct {
	f     *Finder
	p     Project
	w     LinkedWorktree
	whole map[string]string
}

// checkTold fails if the reference of a removal that completes an earlier one does not lead to the saved files.
func checkTold(t *testing.T, p Project, ref string, step int, saved map[string]string) {
	t.Helper()
	for path, text := range saved {
		if ref == "" || !isSaved(t, p, runGit(t, p.Worktree, "rev-list", ref), path, text) {
			t.Errorf("step %d: %s is not in %q", step, path, ref)
		}
	}
}

// checkKilledRemoval writes files where the worktree is, and removes it again. It returns the reference of what is saved.
func checkKilledRemoval(t *testing.T, k killedRemoval, after map[string]string, force bool) string {
	t.Helper()
	list, err := k.f.ListWorktrees(t.Context(), k.p)
	if err != nil || len(list) != 1 || !list[0].IsRemoving || list[0].Directory != k.w.Directory {
		t.Fatalf("%v, %v", list, err)
	}
	isWritten := false
	for _, place := range []string{k.w.Directory, k.w.Directory + removedSuffix} {
		if _, err := os.Lstat(place); err == nil {
			writeFiles(t, place, after)
			isWritten = len(after) > 0
		}
	}
	_, isIgnored := after["ignored/c.txt"]
	told, err := k.f.RemoveWorktree(t.Context(), k.p, Removal{Directory: k.w.Directory, Force: force})
	if !isWritten || force || isIgnored {
		if err != nil {
			t.Fatal(err)
		}
		saved := runGit(t, k.p.Worktree, "for-each-ref", "--format=%(refname)", "refs/cairn/worktrees")
		for path, text := range after {
			if isWritten && !isIgnored && !isSaved(t, k.p, saved, path, text) {
				t.Errorf("%s is lost", path)
			}
		}
		return told.Ref
	}
	// It is there again, with all files but those that git ignores.
	if !errors.Is(err, &session.Error{Code: session.CodeConflict}) || !strings.Contains(err.Error(), "precious.txt") {
		t.Fatalf("with new work: %v", err)
	}
	if list, err := k.f.ListWorktrees(t.Context(), k.p); err != nil || len(list) != 1 || list[0].IsRemoving {
		t.Fatalf("put back: %v, %v", list, err)
	}
	now := readFiles(t, k.w.Directory)
	for path := range k.whole {
		if _, ok := now[path]; !ok && !strings.HasPrefix(path, "ignored") {
			t.Errorf("%s is gone", path)
		}
	}
	for path := range after {
		if _, ok := now[path]; !ok {
			t.Errorf("%s is lost", path)
		}
		writeFiles(t, k.w.Directory, map[string]string{path: "-"})
	}
	if status := runGit(t, k.w.Directory, "status", "--porcelain"); status != "" {
		t.Errorf("put back: %s", status)
	}
	if _, err := k.f.RemoveWorktree(t.Context(), k.p, Removal{Directory: k.w.Directory}); err != nil {
		t.Fatal(err)
	}
	return ""
}

// isSaved reports whether one of the references has a file with the content.
func isSaved(t *testing.T, p Project, refs, path, text string) bool {
	t.Helper()
	return slices.ContainsFunc(strings.Fields(refs), func(ref string) bool {
		out, err := exec.Command("git", "-C", p.Worktree, "show", ref+":"+path).Output()
		return err == nil && string(out) == text
	})
}
