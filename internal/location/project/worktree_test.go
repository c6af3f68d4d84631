package project

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cairn-dev/cairn/internal/session"
)

// newRepository returns a repository with one commit, its project, and a place for worktrees.
func newRepository(t *testing.T) (f *Finder, p Project, parent string) {
	t.Helper()
	repo := repository(t)
	runGit(t, repo, "checkout", "-q", "-b", "main")
	writeFiles(t, repo, map[string]string{"a.txt": "one\n", ".gitignore": "ignored\n"})
	runGit(t, repo, "add", ".")
	commit(t, repo, "one")
	f = &Finder{}
	return f, find(t, f, repo), filepath.Join(realTemp(t), "trees")
}

func create(t *testing.T, f *Finder, p Project, n NewWorktree) LinkedWorktree {
	t.Helper()
	w, err := f.CreateWorktree(t.Context(), p, n)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A worktree is created with a branch, listed, and removed with its branch.
func TestWorktrees(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	want := LinkedWorktree{Name: "fix", Branch: "cairn/fix", Directory: filepath.Join(parent, "fix")}
	got, err := f.ListWorktrees(t.Context(), p)
	diff := cmp.Diff([]LinkedWorktree{want}, got, cmpopts.IgnoreUnexported(LinkedWorktree{}))
	if diff != "" || err != nil || w.Directory != want.Directory || w.Branch != want.Branch {
		t.Errorf("%v, %v, %s", w, err, diff)
	}
	if diff := cmp.Diff(readFiles(t, p.Worktree), readFiles(t, w.Directory)); diff != "" {
		t.Errorf("the files: %s", diff)
	}
	// From within it, too, it can be removed.
	saved, err := f.RemoveWorktree(t.Context(), find(t, f, w.Directory), Removal{Directory: w.Directory, Force: false})
	if err != nil || saved != (Saved{}) {
		t.Errorf("%v, %v", saved, err)
	}
	if branches := runGit(t, p.Worktree, "branch", "--format=%(refname:short)"); branches != "main" {
		t.Errorf("branches: %s", branches)
	}
	if _, err := os.Stat(w.Directory); err == nil {
		t.Error("the directory is there")
	}
}

// A wrong request creates nothing.
func TestCreateWorktreeRefused(t *testing.T) {
	f, p, parent := newRepository(t)
	create(t, f, p, NewWorktree{Name: "taken", Parent: parent})
	runGit(t, p.Worktree, "branch", "cairn/branch")
	empty := find(t, f, repository(t))
	for name, c := range map[string]struct {
		p    Project
		n    NewWorktree
		want string
	}{
		"no repository": {find(t, f, realTemp(t)), NewWorktree{Name: "a"}, "is in no git repository"},
		"no commit":     {empty, NewWorktree{Name: "a"}, "has no commit yet"},
		"option":        {p, NewWorktree{Name: "-f"}, "must begin with"},
		"path":          {p, NewWorktree{Name: "../a"}, "must have letters"},
		"dots":          {p, NewWorktree{Name: "a..b"}, "must not contain .."},
		"lock":          {p, NewWorktree{Name: "x.lock"}, "must not end with . or .lock"},
		"long":          {p, NewWorktree{Name: strings.Repeat("x", 65)}, "at most 64 characters"},
		"removed":       {p, NewWorktree{Name: "x.removed-by-cairn"}, "must not end with .removed-by-cairn"},
		"empty":         {p, NewWorktree{}, "must have letters"},
		"taken":         {p, NewWorktree{Name: "taken"}, "exists already"},
		"branch":        {p, NewWorktree{Name: "branch"}, "the branch cairn/branch exists already"},
		"bad branch":    {p, NewWorktree{Name: "a", Branch: "--x"}, "no name of a branch"},
		"from":          {p, NewWorktree{Name: "a", From: "--all"}, "is no branch or commit here"},
		"from a file":   {p, NewWorktree{Name: "a", From: "HEAD:a.txt"}, "is no branch or commit here"},
	} {
		c.n.Parent = parent
		_, err := f.CreateWorktree(t.Context(), c.p, c.n)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, _ := f.ListWorktrees(t.Context(), p); len(got) != 1 {
		t.Errorf("worktrees: %v", got)
	}
}

// A worktree whose files cannot be written leaves neither a directory nor a branch behind.
func TestCreateWorktreeCleansUp(t *testing.T) {
	f, p, parent := newRepository(t)
	writeFiles(t, p.Worktree, map[string]string{"b.txt": "lost\n"})
	runGit(t, p.Worktree, "add", ".")
	commit(t, p.Worktree, "two")
	blob := runGit(t, p.Worktree, "rev-parse", "HEAD:b.txt")
	if err := os.Remove(filepath.Join(p.Worktree, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	_, err := f.CreateWorktree(t.Context(), p, NewWorktree{Name: "fix", Parent: parent})
	if err == nil {
		t.Fatal("no error")
	}
	if got, _ := f.ListWorktrees(t.Context(), p); len(got) != 0 {
		t.Errorf("worktrees: %v", got)
	}
	if branches := runGit(t, p.Worktree, "branch", "--format=%(refname:short)"); branches != "main" {
		t.Errorf("branches: %s", branches)
	}
}

// A branch that was made stays if it is not where it was made, and is no error if it is gone.
func TestDiscardWorktreeBranch(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	commit(t, w.Directory, "own")
	if err := f.DiscardWorktree(t.Context(), p, w); err == nil || !strings.Contains(err.Error(), "the branch cairn/fix stays: ") {
		t.Error(err)
	}
	g, c, err := f.open(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.deleteBranch(t.Context(), c, LinkedWorktree{Branch: "gone"}, w.head); err != nil {
		t.Error(err)
	}
}

// A file that was changed in the moment in which git wrote the index, to another content of the same size, is a change.
func TestRemoveWorktreeWithRacyIndex(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	runGit(t, w.Directory, "config", "core.trustctime", "false")
	file, index := filepath.Join(w.Directory, "a.txt"), runGit(t, w.Directory, "rev-parse", "--path-format=absolute", "--git-path", "index")
	setTimes := func(paths ...string) {
		t.Helper()
		at := time.Now().Add(-time.Hour).Truncate(time.Hour)
		for _, path := range paths {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	setTimes(file)
	runGit(t, w.Directory, "update-index", "--refresh")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, w.Directory, map[string]string{"a.txt": strings.Repeat("x", len(text))})
	setTimes(file, index)
	if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory}); err == nil || !strings.Contains(err.Error(), "a.txt") {
		t.Error(err)
	}
}

// An error of a removal says where the work is that it has saved. Without git there is no list of worktrees.
func TestRemoveWorktreeFailsAfterItsSave(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	writeFiles(t, w.Directory, map[string]string{"new.txt": "new\n"})
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\ncase \"$*\" in *'worktree remove'*) echo broken >&2; exit 1;; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(broken, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	_, err = (&Finder{Git: broken}).RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: true})
	ref := runGit(t, p.Worktree, "for-each-ref", "--format=%(refname)", "refs/cairn/worktrees")
	if err == nil || !strings.Contains(err.Error(), "broken") || ref == "" || !strings.Contains(err.Error(), ref) {
		t.Errorf("%v, saved %q", err, ref)
	}
	saved, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory})
	if err != nil || saved.Ref != ref {
		t.Errorf("%v, %v", saved, err)
	}
	if list, err := (&Finder{Git: filepath.Join(parent, "none")}).ListWorktrees(t.Context(), p); err == nil {
		t.Errorf("without git: %v", list)
	}
}

// Neither hooks nor filters of the repository run.
func TestCreateWorktreeRunsNothing(t *testing.T) {
	f, p, parent := newRepository(t)
	canary := filepath.Join(t.TempDir(), "ran")
	writeFiles(t, p.Worktree, map[string]string{
		".gitattributes": "* filter=evil\n", ".git/hooks/post-checkout": "#!/bin/sh\ntouch " + canary + "\n",
		".git/hooks/reference-transaction": "#!/bin/sh\ntouch " + canary + "\n",
	})
	runGit(t, p.Worktree, "add", ".gitattributes")
	commit(t, p.Worktree, "two")
	for _, name := range []string{"post-checkout", "reference-transaction"} {
		if err := os.Chmod(filepath.Join(p.Worktree, ".git", "hooks", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, p.Worktree, "config", "filter.evil.smudge", "touch "+canary+"; cat")
	runGit(t, p.Worktree, "config", "filter.evil.clean", "touch "+canary+"; cat")
	_ = os.Remove(canary)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: false}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a program of the repository ran")
	}
	w = create(t, f, p, NewWorktree{Name: "fix", Parent: parent, Filters: true})
	if _, err := os.Stat(canary); err != nil {
		t.Errorf("an allowed filter did not run in %s: %v", w.Directory, err)
	}
}

// What is not committed, and commits that no branch has, are never deleted.
func TestRemoveWorktreeKeepsWork(t *testing.T) {
	f, p, parent := newRepository(t)
	conflict := &session.Error{Code: session.CodeConflict}
	// Uncommitted changes.
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	writeFiles(t, w.Directory, map[string]string{"a.txt": "TWO\n", "new.txt": "new\n", "ignored": "x"})
	if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: false}); !errors.Is(err, conflict) {
		t.Errorf("uncommitted: %v", err)
	}
	if _, err := f.ResetWorktree(t.Context(), p, w.Directory, false); !errors.Is(err, conflict) {
		t.Errorf("reset: %v", err)
	}
	before := readFiles(t, w.Directory)
	saved, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: true})
	if err != nil || saved.Ref == "" {
		t.Fatal(saved, err)
	}
	again := filepath.Join(parent, "again")
	runGit(t, p.Worktree, "worktree", "add", "-q", "--detach", again, saved.Ref)
	delete(before, "ignored")
	if diff := cmp.Diff(before, readFiles(t, again)); diff != "" {
		t.Errorf("saved: %s", diff)
	}
	// Commits of a branch: the branch stays.
	w = create(t, f, p, NewWorktree{Name: "work", Parent: parent})
	tip := commit(t, w.Directory, "work")
	if saved, err = f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: false}); err != nil || saved.Branch != "cairn/work" {
		t.Errorf("%v, %v", saved, err)
	}
	if got := runGit(t, p.Worktree, "rev-parse", "cairn/work"); got != tip {
		t.Errorf("the branch is at %s", got)
	}
	// Commits without a branch: they are saved.
	loose := filepath.Join(parent, "loose")
	runGit(t, p.Worktree, "worktree", "add", "-q", "--detach", loose)
	tip = commit(t, loose, "loose")
	if saved, err = f.RemoveWorktree(t.Context(), p, Removal{Directory: loose, Force: false}); err != nil || saved.Ref == "" {
		t.Fatal(saved, err)
	}
	if got := runGit(t, p.Worktree, "rev-parse", saved.Ref); got != tip {
		t.Errorf("saved is %s", got)
	}
}

// A worktree with a repository in it stays, whatever git says of that: the repository may have commits of its own.
func TestRemoveWorktreeWithRepositories(t *testing.T) {
	f, p, parent := newRepository(t)
	library := repository(t)
	writeFiles(t, library, map[string]string{"lib.txt": "lib\n"})
	runGit(t, library, "add", ".")
	commit(t, library, "lib")
	for name, prepare := range map[string]func(dir string){
		"nested": func(dir string) { runGit(t, "", "init", "-q", filepath.Join(dir, "inner")) },
		"ignored": func(dir string) {
			runGit(t, "", "init", "-q", filepath.Join(dir, "ignored"))
		},
		"submodule": func(dir string) {
			runGit(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "lib")
			commit(t, dir, "with a submodule")
		},
		"submodule without files": func(dir string) {
			runGit(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "lib")
			commit(t, dir, "with a submodule")
			runGit(t, dir, "submodule", "--quiet", "deinit", "--force", "lib")
		},
	} {
		w := create(t, f, p, NewWorktree{Name: strings.ReplaceAll(name, " ", "-"), Parent: parent})
		prepare(w.Directory)
		before := readFiles(t, w.Directory)
		for _, force := range []bool{false, true} {
			_, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: force})
			if err == nil || !strings.Contains(err.Error(), "has a repository of its own in") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(before, readFiles(t, w.Directory)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Changes that git was told not to see count, and those that only the index has are saved.
func TestRemoveWorktreeWithHiddenChanges(t *testing.T) {
	f, p, parent := newRepository(t)
	for _, option := range []string{"--assume-unchanged", "--skip-worktree"} {
		w := create(t, f, p, NewWorktree{Name: "hidden" + option, Parent: parent})
		runGit(t, w.Directory, "update-index", option, "a.txt")
		if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: false}); err != nil {
			t.Errorf("%s without a change: %v", option, err)
		}
		w = create(t, f, p, NewWorktree{Name: "hidden" + option, Parent: parent})
		runGit(t, w.Directory, "update-index", option, "a.txt")
		writeFiles(t, w.Directory, map[string]string{"a.txt": "hidden\n"})
		if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: false}); !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			t.Errorf("%s: %v", option, err)
		}
		saved, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := runGit(t, p.Worktree, "show", saved.Ref+":a.txt"); got != "hidden" {
			t.Errorf("%s: saved is %q", option, got)
		}
	}
	// Only in the index: a file that is gone, and one that is ignored but was added.
	w := create(t, f, p, NewWorktree{Name: "staged", Parent: parent})
	writeFiles(t, w.Directory, map[string]string{"staged.txt": "staged\n", "ignored": "added\n"})
	runGit(t, w.Directory, "add", "--force", "staged.txt", "ignored")
	writeFiles(t, w.Directory, map[string]string{"staged.txt": "-"})
	saved, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, p.Worktree, "show", saved.Ref+":ignored", saved.Ref+"^2:staged.txt"); got != "added\nstaged" {
		t.Errorf("saved is %q", got)
	}
}

// What is saved is what was there, byte by byte, whatever git converts and shows.
func TestRemoveWorktreeSavesBytes(t *testing.T) {
	f, p, parent := newRepository(t)
	for _, c := range []struct{ name, key, value, attributes string }{
		{name: "plain"},
		{name: "autocrlf", key: "core.autocrlf", value: "true"},
		{name: "input", key: "core.autocrlf", value: "input"},
		{name: "attributes", attributes: "* text=auto\n*.txt ident\n"},
	} {
		if c.key != "" {
			runGit(t, p.Worktree, "config", c.key, c.value)
		}
		w := create(t, f, p, NewWorktree{Name: c.name, Parent: parent})
		files := map[string]string{
			"a.txt": "one\r\nchanged $Id: 1 $\r\n", "new \"ü\"\n.txt": "x\r\ny\r\n", "d/new.txt": "$Id: 2 $\r\n",
		}
		if c.attributes != "" {
			files[".gitattributes"] = c.attributes
		}
		writeFiles(t, w.Directory, files)
		if err := os.Chmod(filepath.Join(w.Directory, "d", "new.txt"), 0o700); err != nil {
			t.Fatal(err)
		}
		saved, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			got := runGit(t, p.Worktree, "cat-file", "blob", saved.Ref+":"+name)
			if got != strings.TrimSpace(want) {
				t.Errorf("%s: saved %q as %q, want %q", c.name, name, got, want)
			}
		}
		if tree := runGit(t, p.Worktree, "ls-tree", saved.Ref, "d/new.txt"); !strings.HasPrefix(tree, "100755 ") {
			t.Errorf("%s: the mode of the saved file: %s", c.name, tree)
		}
		if c.key != "" {
			runGit(t, p.Worktree, "config", "--unset", c.key)
		}
	}
}

// A worktree that shows a part of its commit only is removed with what is new in it, and nothing else counts as deleted.
func TestRemoveSparseWorktree(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "sparse", Parent: parent})
	runGit(t, w.Directory, "sparse-checkout", "set", "--no-cone", "nothing")
	writeFiles(t, w.Directory, map[string]string{"new.txt": "new\n"})
	saved, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, p.Worktree, "diff", "--name-status", "HEAD", saved.Ref); got != "A\tnew.txt" {
		t.Errorf("saved is %q", got)
	}
}

// A worktree that the user has locked stays, also when its disk is not there, and the commits of a gone one are saved.
func TestRemoveWorktreeThatIsAway(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "disk", Parent: parent})
	runGit(t, p.Worktree, "worktree", "lock", "--reason", "on a portable disk", w.Directory)
	for range 2 {
		for _, force := range []bool{false, true} {
			_, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: force})
			if err == nil || !strings.Contains(err.Error(), "is locked (on a portable disk)") {
				t.Errorf("locked: %v", err)
			}
		}
		if err := os.RemoveAll(w.Directory); err != nil {
			t.Fatal(err)
		}
	}
	loose := filepath.Join(parent, "my loose.lock")
	runGit(t, p.Worktree, "worktree", "add", "-q", "--detach", loose)
	tip := commit(t, loose, "loose")
	if err := os.RemoveAll(loose); err != nil {
		t.Fatal(err)
	}
	saved, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: loose, Force: false})
	if err != nil || saved.Ref == "" {
		t.Fatal(saved, err)
	}
	if got := runGit(t, p.Worktree, "rev-parse", saved.Ref); got != tip {
		t.Errorf("saved is %s", got)
	}
}

// A worktree whose creation was cut off is marked, and removed with its branch.
func TestCutOffWorktree(t *testing.T) {
	f, p, parent := newRepository(t)
	directory := filepath.Join(parent, "fix")
	runGit(t, p.Worktree, "worktree", "add", "-q", "--no-checkout", "--lock", "--reason", creating, "-b", "cairn/fix", directory)
	if list, err := f.ListWorktrees(t.Context(), p); err != nil || len(list) != 1 || !list[0].IsCreating {
		t.Errorf("%v, %v", list, err)
	}
	if saved, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: directory, Force: false}); err != nil || saved != (Saved{}) {
		t.Errorf("%v, %v", saved, err)
	}
	create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
}

// A reset makes a worktree as the default branch, and saves the commits that only its branch had.
func TestResetWorktree(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	writeFiles(t, w.Directory, map[string]string{"a.txt": "mine\n", "b.txt": "b\n"})
	runGit(t, w.Directory, "add", ".")
	tip := commit(t, w.Directory, "mine")
	writeFiles(t, p.Worktree, map[string]string{"a.txt": "theirs\n"})
	runGit(t, p.Worktree, "add", ".")
	commit(t, p.Worktree, "theirs")
	saved, err := f.ResetWorktree(t.Context(), find(t, f, w.Directory), w.Directory, false)
	if err != nil || saved.Ref == "" {
		t.Fatal(saved, err)
	}
	if got := runGit(t, p.Worktree, "rev-parse", saved.Ref); got != tip {
		t.Errorf("saved is %s", got)
	}
	if diff := cmp.Diff(readFiles(t, p.Worktree), readFiles(t, w.Directory)); diff != "" {
		t.Errorf("the files: %s", diff)
	}
	if saved, err = f.ResetWorktree(t.Context(), p, w.Directory, false); err != nil || saved.Ref != "" {
		t.Errorf("again: %v, %v", saved, err)
	}
	if _, err := f.ResetWorktree(t.Context(), p, p.Worktree, false); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		t.Errorf("the main worktree: %v", err)
	}
}

// A worktree of a bare repository is removed with its branch, also from within it.
func TestRemoveWorktreeOfABareRepository(t *testing.T) {
	f, p, parent := newRepository(t)
	bare := filepath.Join(realTemp(t), "bare.git")
	runGit(t, "", "clone", "-q", "--bare", p.Worktree, bare)
	first := filepath.Join(parent, "first")
	runGit(t, bare, "worktree", "add", "-q", first, "main")
	w := create(t, f, find(t, f, first), NewWorktree{Name: "fix", Parent: parent})
	saved, err := f.RemoveWorktree(t.Context(), find(t, f, w.Directory), Removal{Directory: w.Directory, Force: false})
	if err != nil || saved != (Saved{}) {
		t.Errorf("%v, %v", saved, err)
	}
}

// A removal that was cut off goes on, and what is gone already is forgotten.
func TestRemoveWorktreeAgain(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	runGit(t, p.Worktree, "worktree", "lock", "--reason", removing, w.Directory)
	if err := os.Remove(filepath.Join(w.Directory, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: false}); err != nil {
		t.Error(err)
	}
	// What was done in it since the removal was cut off counts.
	w = create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	runGit(t, p.Worktree, "worktree", "lock", "--reason", removing, w.Directory)
	writeFiles(t, w.Directory, map[string]string{"a.txt": "-", "precious.txt": "mine\n"})
	if list, err := f.ListWorktrees(t.Context(), p); err != nil || !list[0].IsRemoving {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: false}); err == nil || !strings.Contains(err.Error(), "precious.txt") {
		t.Errorf("with new work: %v", err)
	}
	if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: true}); err != nil {
		t.Error(err)
	}
	w = create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	if err := os.RemoveAll(w.Directory); err != nil {
		t.Fatal(err)
	}
	if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: false}); err != nil {
		t.Error(err)
	}
	create(t, f, p, NewWorktree{Name: "fix", Parent: parent}) // the branch is gone, too
}

// What is written between the check and the removal is not lost: the worktree is put back.
func TestRemoveWorktreeWithLateWork(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	here, err := os.OpenRoot(w.Directory) // as a program that works in it
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	late := Removal{Directory: w.Directory, CheckIdle: func(context.Context) error {
		return here.WriteFile("late.txt", []byte("late\n"), 0o600)
	}}
	_, err = f.RemoveWorktree(t.Context(), p, late)
	if err == nil || !strings.Contains(err.Error(), "late.txt") {
		t.Fatal(err)
	}
	busy := Removal{Directory: w.Directory, Force: true, CheckIdle: func(context.Context) error { return errors.New("busy") }}
	if _, err := f.RemoveWorktree(t.Context(), p, busy); err == nil || err.Error() != "busy" {
		t.Error(err)
	}
	got, err := f.ListWorktrees(t.Context(), p)
	if err != nil || len(got) != 1 || got[0].IsRemoving || got[0].IsGone {
		t.Errorf("%v, %v", got, err)
	}
	if files := readFiles(t, w.Directory); len(files) != 3 {
		t.Errorf("the files: %v", files)
	}
	late.Force = true
	saved, err := f.RemoveWorktree(t.Context(), p, late)
	if err != nil || runGit(t, p.Worktree, "show", saved.Ref+":late.txt") != "late" {
		t.Errorf("%v, %v", saved, err)
	}
}

// A removal that left no .git behind, as git's own one does when it is killed, is completed.
func TestRemoveWorktreeWithoutLink(t *testing.T) {
	f, p, parent := newRepository(t)
	for _, work := range []bool{false, true} {
		w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
		runGit(t, p.Worktree, "worktree", "lock", "--reason", removing, w.Directory)
		writeFiles(t, w.Directory, map[string]string{".git": "-", ".gitignore": "-", "ignored": "x"})
		if work {
			writeFiles(t, w.Directory, map[string]string{"precious.txt": "mine\n"})
			if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory}); err == nil ||
				!strings.Contains(err.Error(), "precious.txt") {
				t.Fatal(err)
			}
			if status := runGit(t, w.Directory, "status", "--porcelain"); status != "?? precious.txt" {
				t.Errorf("put back: %s", status)
			}
		}
		if _, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory, Force: work}); err != nil {
			t.Fatal(err)
		}
	}
}

// A directory that is made anew during a removal stays, and what must not be written is removed.
func TestRemoveWorktreeMadeAnew(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	writeFiles(t, w.Directory, map[string]string{"ignored/cache/x.go": "x"})
	if err := os.Chmod(filepath.Join(w.Directory, "ignored", "cache"), 0o500); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(w.Directory, "mine.txt")
	r := Removal{Directory: w.Directory, CheckIdle: func(context.Context) error {
		writeFiles(t, w.Directory, map[string]string{"mine.txt": "mine\n"})
		return nil
	}}
	if _, err := f.RemoveWorktree(t.Context(), p, r); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(w.Directory + removedSuffix); err == nil {
		t.Error("the renamed directory is there")
	}
	if list, err := f.ListWorktrees(t.Context(), p); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// The branch of a removed worktree goes if any other branch has its commits, and stays if another worktree has it.
func TestRemoveWorktreeBranch(t *testing.T) {
	f, p, parent := newRepository(t)
	runGit(t, p.Worktree, "checkout", "-q", "-b", "other")
	commit(t, p.Worktree, "other")
	runGit(t, p.Worktree, "checkout", "-q", "main")
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent, From: "other"})
	saved, err := f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory})
	if err != nil || saved != (Saved{}) {
		t.Errorf("%v, %v", saved, err)
	}
	w = create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	runGit(t, p.Worktree, "worktree", "add", "-q", "--force", filepath.Join(parent, "twin"), "cairn/fix")
	saved, err = f.RemoveWorktree(t.Context(), p, Removal{Directory: w.Directory})
	if err != nil || saved.Branch != "cairn/fix" {
		t.Errorf("%v, %v", saved, err)
	}
}

// Whatever step of git fails, a creation leaves neither a directory nor a branch behind.
func TestCreateWorktreeAfterFailures(t *testing.T) {
	f, p, parent := newRepository(t)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"branch --no-track", "worktree add", "reset --quiet", "worktree unlock"} {
		for _, when := range []string{"before", "after"} {
			script := "#!/bin/sh\ncase \"$*\" in *'" + step + "'*)\n"
			if when == "after" && step != "branch --no-track" {
				script += real + " \"$@\" >&2\n"
			}
			script += "echo broken >&2; exit 1;; esac\nexec " + real + " \"$@\"\n"
			broken := filepath.Join(t.TempDir(), "git")
			if err := os.WriteFile(broken, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
				t.Fatal(err)
			}
			_, err := (&Finder{Git: broken}).CreateWorktree(t.Context(), p, NewWorktree{Name: "fix", Parent: parent})
			if err == nil || !strings.Contains(err.Error(), "broken") {
				t.Errorf("%s: %v", step, err)
			}
			list, _ := f.ListWorktrees(t.Context(), p)
			branches := runGit(t, p.Worktree, "branch", "--format=%(refname:short)")
			if _, err := os.Lstat(parent); err == nil || len(list) != 0 || branches != "main" {
				t.Errorf("%s %s: %v, %v, %s", when, step, err, list, branches)
			}
		}
	}
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	if err := f.DiscardWorktree(t.Context(), p, w); err != nil {
		t.Error(err)
	}
	if branches := runGit(t, p.Worktree, "branch", "--format=%(refname:short)"); branches != "main" {
		t.Errorf("branches: %s", branches)
	}
}

// What is written between the check and the reset stays, and the error says what it is.
func TestResetWorktreeWithLateWork(t *testing.T) {
	f, p, parent := newRepository(t)
	w := create(t, f, p, NewWorktree{Name: "fix", Parent: parent})
	writeFiles(t, p.Worktree, map[string]string{"a.txt": "theirs\n", "b.txt": "theirs\n"})
	runGit(t, p.Worktree, "add", ".")
	commit(t, p.Worktree, "theirs")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		late := filepath.Join(t.TempDir(), "git")
		script := "#!/bin/sh\ncase \"$*\" in *' reset '*) echo mine > " + filepath.Join(w.Directory, name) + ";; esac\n" +
			"exec " + real + " \"$@\"\n"
		if err := os.WriteFile(late, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
		_, err := (&Finder{Git: late}).ResetWorktree(t.Context(), p, w.Directory, false)
		if !errors.Is(err, &session.Error{Code: session.CodeConflict}) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if got := readFiles(t, w.Directory)[name]; !strings.HasSuffix(got, "mine\n") {
			t.Errorf("%s is %q", name, got)
		}
		runGit(t, w.Directory, "reset", "-q", "--hard")
		runGit(t, w.Directory, "clean", "-qf")
	}
	// A file that was only touched is no work.
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(w.Directory, "a.txt"), now, now); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ResetWorktree(t.Context(), p, w.Directory, false); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(readFiles(t, p.Worktree), readFiles(t, w.Directory)); diff != "" {
		t.Errorf("the files: %s", diff)
	}
}
