package snapshot

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// testTree is a directory on disk with the worktree under test.
type testTree struct {
	t    *testing.T
	root string // the directory
	git  string // "" captures without git
	home string // where contents and captures are stored
	*DiskWorktree
}

// inEachTree runs the test in a git repository and in a plain directory.
func inEachTree(t *testing.T, test func(t *testing.T, p *testTree)) {
	t.Run("git", func(t *testing.T) { test(t, newRepository(t)) })
	t.Run("directory", func(t *testing.T) { test(t, newDirectory(t)) })
}

func newDirectory(t *testing.T) *testTree {
	p := &testTree{t: t, root: t.TempDir(), home: t.TempDir()}
	p.reopen("")
	return p
}

func newRepository(t *testing.T) *testTree {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing")
	}
	p := &testTree{t: t, root: t.TempDir(), git: git, home: t.TempDir()}
	p.command("git", "init", "-q")
	p.reopen("")
	return p
}

// reopen opens the worktree as another process would.
func (p *testTree) reopen(scope string) {
	p.DiskWorktree = Open(Options{
		Blobs: NewBlobs(p.home), Dir: filepath.Join(p.home, "tree"), Root: p.root, Scope: scope, Git: p.git,
		Logger: slog.New(slog.DiscardHandler),
	})
}

func (p *testTree) command(argv ...string) {
	p.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = p.root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

func (p *testTree) write(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *testTree) read(name string) string {
	raw, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(name)))
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return string(raw)
}

func (p *testTree) mustCapture() string {
	p.t.Helper()
	tree, err := p.CaptureTree(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return tree
}

// changes returns what f changes, as "A path" for a new file, "D path" for a deleted and "M path" for a changed one,
// and checks that the contents of both sides are stored.
func (p *testTree) changes(f func()) []string {
	p.t.Helper()
	before := p.mustCapture()
	f()
	found, _, err := p.Compare(p.t.Context(), before, p.mustCapture(), 100)
	if err != nil {
		p.t.Fatal(err)
	}
	out := []string{}
	for _, c := range found {
		for _, s := range []session.PathState{c.Before, c.After} {
			if s.Blob == "" || s.Mode == session.ModeSubmodule {
				continue
			}
			if _, err := p.Read(p.t.Context(), s.Blob, MaxBlob); err != nil {
				p.t.Errorf("%s: a side of the change is not stored: %v", c.Path, err)
			}
		}
		out = append(out, strings.ToUpper(c.Status()[:1])+" "+string(c.Path))
	}
	return out
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// SN-1: what differs between two captures is what was changed, whatever the files are.
func TestCompare(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		p.write("a.txt", "a\n")
		p.write("dir/b", "b\n")
		p.write("gone", "x")
		expect(t, "nothing", p.changes(func() {}), nil)
		expect(t, "files", p.changes(func() {
			p.write("a.txt", "A\n")
			p.write("new file", "n")
			p.write("weird \"name\n", "w")
			p.write("caf\xe9", "latin1")
			p.write("binary", "\x00\x01")
			_ = os.Remove(filepath.Join(p.root, "gone"))
		}), []string{"M a.txt", "A binary", "A caf\xe9", "D gone", "A new file", "A weird \"name\n"})
		expect(t, "mode and links", p.changes(func() {
			if err := os.Chmod(filepath.Join(p.root, "a.txt"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/etc/hostname", filepath.Join(p.root, "link")); err != nil {
				t.Fatal(err)
			}
		}), []string{"M a.txt", "A link"})
		expect(t, "same size within a tick", p.changes(func() { p.write("dir/b", "c\n") }), []string{"M dir/b"})
		expect(t, "a file becomes a directory", p.changes(func() {
			_ = os.Remove(filepath.Join(p.root, "new file"))
			p.write("new file/inner", "i")
		}), []string{"D new file", "A new file/inner"})
		p.reopen("")
		expect(t, "another process", p.changes(func() { p.write("dir/b", "d\n") }), []string{"M dir/b"})
	})
}

// SN-2: the rules of a hidden directory hold below it, and not below its namesake without the dot.
func TestRulesOfHiddenDirectory(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		p.write(".hid/.gitignore", "secret\n")
		p.write("hid/keep", "k")
		expect(t, "new files", p.changes(func() {
			p.write(".hid/secret", "s")
			p.write("hid/secret", "s")
		}), []string{"A hid/secret"})
	})
}

// SN-2: ignored files, files over 2 MiB that are not tracked, and other repositories are not captured.
func TestIgnored(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		p.write(".gitignore", "*.log\n/build/\n")
		p.write("sub/.gitignore", "secret\n")
		expect(t, "ignored", p.changes(func() {
			p.write("x.log", "l")
			p.write("build/out", "o")
			p.write("sub/secret", "s")
			p.write("sub/seen", "s")
			p.write("secret", "s")
			p.write("large", strings.Repeat("x", maxUntracked+1))
			p.write("node_modules/.keep", "")
			_ = os.RemoveAll(filepath.Join(p.root, "node_modules"))
		}), []string{"A secret", "A sub/seen"})
		makeOld(t, filepath.Join(p.root, "sub", "secret"))
		expect(t, "no longer ignored", p.changes(func() {
			p.write("sub/.gitignore", "")
			p.write("sub/new", "n")
		}), []string{"M sub/.gitignore", "A sub/new"})
		before := p.mustCapture()
		p.write("x.log", "written and no longer ignored")
		p.write("build/out", "the same")
		p.write(".gitignore", "")
		p.write("other", "o")
		found, omitted, err := p.Compare(t.Context(), before, p.mustCapture(), 10)
		if err != nil || len(found) != 2 || fmt.Sprint(omitted) != "[build/out x.log]" {
			t.Errorf("ignored files that were written: %v, %v, %v", found, omitted, err)
		}
	})
}

// SN-2: a file that a command seems to have created is named, and not a change, if it may hold what no capture has.
func TestAppeared(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		p.write(".gitignore", ".env\nlogs/\n")
		p.write(".env", "secret")
		p.write("logs/x", "log")
		p.write("private/.gitignore", "*\n")
		p.write("private/key", "key")
		p.write("tracked", "content")
		p.write("sub/.git/HEAD", "ref: refs/heads/main")
		p.write("sub/.git/objects/x", "")
		p.write("sub/.git/refs/x", "")
		p.write("sub/u", "user")
		p.write("large", strings.Repeat("x", maxUntracked+1))
		for start := time.Now(); time.Since(start) < 2*fileTimeStep; { // files cannot be given another birth time
			runtime.Gosched()
		}
		move := func(from, to string) func() {
			return func() {
				if err := os.Rename(filepath.Join(p.root, from), filepath.Join(p.root, to)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, c := range []struct {
			change         func()
			found, omitted string
		}{
			{move(".env", "env.old"), "[]", "[env.old]"},
			{move("logs", "kept"), "[]", "[kept/x]"},
			{move("private/.gitignore", ".env"), "[]", "[private/key]"},
			{move("tracked", "moved"), "[moved tracked]", "[]"},
			{func() { move("moved", "edited")(); p.write("edited", "content\nmore\n") }, "[edited moved]", "[]"},
			{move("large", ".env"), "[]", "[large]"},
			{func() { p.write("packed", "p"); _ = os.Remove(filepath.Join(p.root, "sub", "u")) }, "[packed]", "[sub]"},
		} {
			if p.git == "" && c.omitted == "[sub]" {
				c.found, c.omitted = "[packed sub/u]", "[]"
			}
			before := p.mustCapture()
			c.change()
			found, omitted, err := p.Compare(t.Context(), before, p.mustCapture(), 10)
			var names []session.FilePath
			for _, f := range found {
				names = append(names, f.Path)
			}
			if err != nil || fmt.Sprint(names) != c.found || fmt.Sprint(omitted) != c.omitted {
				t.Errorf("%v, %v, %v, want %s, %s", names, omitted, err, c.found, c.omitted)
			}
		}
		if p.git == "" {
			return
		}
		p.write("sub/w", "user")
		before := p.mustCapture()
		_ = os.RemoveAll(filepath.Join(p.root, "sub", ".git"))
		found, omitted, err := p.Compare(t.Context(), before, p.mustCapture(), 10)
		if err != nil || len(found) > 0 || fmt.Sprint(omitted) != "[sub]" {
			t.Errorf("without its git directory: %v, %v, %v", found, omitted, err)
		}
	})
}

// SN-2: repositories inside of a git repository are named if their files changed. Without git their files are captured.
func TestRepositoriesInside(t *testing.T) {
	p := newRepository(t)
	p.write(".gitmodules", "[submodule \"s\"]\n\tpath = sub module\n\turl = ../x\n[submodule \"o\"]\n\tpath = ../..\n")
	p.write("sub module/.git", "gitdir: elsewhere")
	p.write("sub module/a", "1")
	p.command("git", "init", "-q", "inner")
	p.command("git", "-C", "inner", "commit", "-q", "--allow-empty", "-m", "x")
	p.write("inner/b/c", "1")
	p.command("git", "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub module")
	p.reopen("")
	for what, change := range map[string]func(){
		"[]":                 func() { p.write("inner/.git/description", "d") },
		"[inner]":            func() { p.write("inner/b/c", "22") },
		"[sub module]":       func() { p.write("sub module/new", "n") },
		"[inner sub module]": func() { _ = os.Remove(filepath.Join(p.root, "inner/b/c")); p.write("sub module/a", "22") },
	} {
		before := p.mustCapture()
		change()
		found, omitted, err := p.Compare(t.Context(), before, p.mustCapture(), 10)
		if err != nil || len(found) != 0 || fmt.Sprint(omitted) != what {
			t.Errorf("%v, %v, %v, want %s", found, omitted, err, what)
		}
	}
}

// SN-3: a session below the top of a worktree captures its part only.
func TestScope(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		p.write("ours/a", "1")
		p.write("theirs/b", "1")
		p.reopen("ours")
		expect(t, "scope", p.changes(func() { p.write("ours/a", "2"); p.write("theirs/b", "2") }), []string{"M ours/a"})
	})
}

// SN-4: a file is restored only from the state that is expected, with its mode, and never through a link.
func TestRestore(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		ctx := t.Context()
		p.write("a", "old\n")
		p.write("sub/b", "old\n")
		if err := os.Chmod(filepath.Join(p.root, "a"), 0o750); err != nil {
			t.Fatal(err)
		}
		paths := []session.FilePath{"a", "sub/b", "c"}
		before := p.states(paths)
		for _, path := range paths[:2] {
			if _, err := p.Save(ctx, path); err != nil {
				t.Fatal(err)
			}
		}
		p.write("a", "new\n")
		p.write("c", "new\n")
		_ = os.RemoveAll(filepath.Join(p.root, "sub"))
		after := p.states(paths)
		steps := make([]session.FileChange, len(paths))
		for i := range paths {
			steps[i] = session.FileChange{Path: paths[i], Before: after[i], After: before[i]}
		}
		for i, err := range p.Restore(ctx, steps) {
			if err != nil {
				t.Errorf("%s: %v", paths[i], err)
			}
		}
		if got := []string{p.read("a"), p.read("sub/b"), p.read("c")}; !slices.Equal(
			got,
			[]string{"old\n", "old\n", "(none)"},
		) {
			t.Errorf("restored: %q", got)
		}
		if info, err := os.Stat(filepath.Join(p.root, "a")); err != nil || info.Mode().Perm() != 0o750 {
			t.Errorf("the mode of a is %v, %v", info.Mode(), err)
		}
		p.write("a", "the user's\n")
		if err := p.Restore(ctx, []session.FileChange{{Path: "a", Before: after[0], After: before[0]}})[0]; !errors.Is(
			err,
			session.ErrFileChanged,
		) ||
			p.read("a") != "the user's\n" {
			t.Errorf("a file of the user: %v, %q", err, p.read("a"))
		}
		outside := t.TempDir()
		_ = os.RemoveAll(filepath.Join(p.root, "sub"))
		if err := os.Symlink(outside, filepath.Join(p.root, "sub")); err != nil {
			t.Fatal(err)
		}
		for _, path := range []session.FilePath{"sub/b", "../x", "/etc/x"} {
			if err := p.Restore(ctx, []session.FileChange{{Path: path, After: before[1]}})[0]; err == nil {
				t.Errorf("%s was restored through a link or outside", path)
			}
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
			t.Errorf("files outside: %v, %v", entries, err)
		}
	})
}

func (p *testTree) states(paths []session.FilePath) []session.PathState {
	p.t.Helper()
	out, err := p.ReadStates(p.t.Context(), paths)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// SN-5: nothing that a repository configures runs, and its own git directory stays as it is.
func TestHostileRepository(t *testing.T) {
	p := newRepository(t)
	mark := filepath.Join(t.TempDir(), "ran")
	p.command("git", "init", "-q", "part")
	p.command("git", "-C", "part", "commit", "-q", "--allow-empty", "-m", "one")
	p.command("git", "add", "part")
	p.command("git", "-C", "part", "config", "core.fsmonitor", "touch "+mark)
	p.write(".gitattributes", "* filter=evil diff=evil text eol=crlf working-tree-encoding=UTF-16 ident\n")
	p.write("a", "1\n$Id$\n")
	p.command("git", "config", "filter.evil.clean", "touch "+mark)
	p.command("git", "config", "filter.evil.required", "true")
	p.command("git", "config", "core.fsmonitor", "touch "+mark)
	p.command("git", "config", "core.hooksPath", p.root)
	p.command("git", "config", "diff.external", "touch "+mark)
	p.write("post-index-change", "#!/bin/sh\ntouch "+mark+"\n")
	if err := os.Chmod(filepath.Join(p.root, "post-index-change"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := listTree(t, filepath.Join(p.root, ".git"))
	expect(t, "changes", p.changes(func() { p.write("a", "2\r\n$Id$\n") }), []string{"M a"})
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository ran")
	}
	if s := p.states([]session.FilePath{"a"})[0]; s.Blob != blobID([]byte("2\r\n$Id$\n")) {
		t.Errorf("the content was converted: %v", s)
	}
	expect(t, "the repository's git directory", listTree(t, filepath.Join(p.root, ".git")), before)
}

func listTree(t *testing.T, dir string) (out []string) {
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		info, infoErr := e.Info()
		if err == nil && infoErr == nil && !e.IsDir() {
			out = append(out, fmt.Sprint(path, info.Size(), info.ModTime()))
		}
		return errors.Join(err, infoErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What git converts is captured as the worktree contains it, not as the repository stores it.
func TestConvertedContents(t *testing.T) {
	for name, setup := range map[string]func(p *testTree){
		"line ends":        func(p *testTree) { p.command("git", "config", "core.autocrlf", "true") },
		"filter":           func(p *testTree) { p.command("git", "config", "filter.x.clean", "head -c 2") },
		"filter of a size": func(p *testTree) { p.command("git", "config", "filter.x.clean", "tr a-z A-Z") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newRepository(t)
			setup(p)
			if name != "line ends" {
				p.write(".gitattributes", "*.txt filter=x\n")
			}
			const content = "one\r\ntwo\r\n"
			p.write("a.txt", content)
			old := time.Now().Add(-time.Hour) // else git reads the file again, as it may have changed since
			if err := os.Chtimes(filepath.Join(p.root, "a.txt"), old, old); err != nil {
				t.Fatal(err)
			}
			p.command("git", "add", ".")
			before := p.mustCapture()
			p.write("a.txt", "three")
			found, _, err := p.Compare(t.Context(), before, p.mustCapture(), 100)
			if err != nil || len(found) != 1 {
				t.Fatalf("%v, %v", found, err)
			}
			got, err := NewBlobs(p.home).Read(found[0].Before.Blob, 1<<20)
			if err != nil || string(got) != content {
				t.Errorf("the file is captured as %q, not %q: %v", got, content, err)
			}
		})
	}
}

// SN-1: files that git is to ignore the worktree for are captured as well.
func TestMarkedFiles(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		p.write("skipped", "1")
		p.write("assumed", "1")
		if p.git != "" {
			p.command("git", "add", ".")
			p.command("git", "update-index", "--skip-worktree", "skipped")
			p.command("git", "update-index", "--assume-unchanged", "assumed")
		}
		p.reopen("")
		expect(t, "marked files", p.changes(func() { p.write("skipped", "22"); p.write("assumed", "22") }),
			[]string{"M assumed", "M skipped"})
		if p.git != "" {
			return // git compares the seconds of the change time
		}
		at := time.Unix(1, 0)
		p.write("dated", "aaaa")
		if err := os.Chtimes(filepath.Join(p.root, "dated"), at, at); err != nil {
			t.Fatal(err)
		}
		p.mustCapture()
		expect(t, "a file with the same size and time", p.changes(func() {
			p.write("dated", "bbbb")
			if err := os.Chtimes(filepath.Join(p.root, "dated"), at, at); err != nil {
				t.Fatal(err)
			}
		}), []string{"M dated"})
	})
}

// SN-6: a file whose content the repository's collection took, and that did not change since, is captured again.
func TestCollectedObjects(t *testing.T) {
	p := newRepository(t)
	p.write("a", "one\n")
	p.write("sub/b", "one\n")
	p.command("git", "add", ".")
	p.command("git", "commit", "-qm", "one")
	p.reopen("")
	p.mustCapture()
	p.command("git", "rm", "-qr", "--cached", ".")
	p.command("git", "commit", "-qm", "none", "--amend", "--allow-empty")
	p.command("git", "reflog", "expire", "--expire=now", "--all")
	p.command("git", "gc", "-q", "--prune=now")
	p.reopen("")
	expect(t, "after the collection", p.changes(func() { p.write("c", "new\n"); p.write("sub/d", "new\n") }),
		[]string{"A c", "A sub/d"})
	expect(t, "of a file whose content was taken", p.changes(func() { p.write("a", "two\n") }), []string{"M a"})
}

// SN-6: what was captured is kept through the garbage collection of the repository, and in states that git is left in.
func TestRepositoryStates(t *testing.T) {
	p := newRepository(t)
	p.write("a", "one\n")
	p.command("git", "add", ".")
	p.command("git", "commit", "-qm", "one")
	p.reopen("") // the index is copied
	before := p.mustCapture()
	p.write("a", "two\n")
	found, _, err := p.Compare(t.Context(), before, p.mustCapture(), 10)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	p.command("git", "checkout", "-q", "--orphan", "other")
	p.command("git", "rm", "-qrf", "--cached", ".")
	p.command("git", "branch", "-D", "-q", "master", "-f")
	p.command("git", "reflog", "expire", "--expire=now", "--all")
	p.command("git", "gc", "-q", "--prune=now")
	if raw, err := p.Read(t.Context(), found[0].Before.Blob, 100); err != nil || string(raw) != "one\n" {
		t.Errorf("after the collection: %q, %v", raw, err)
	}
	p.command("git", "add", "a")
	p.command("git", "commit", "-qm", "two")
	p.command("git", "checkout", "-q", "-b", "third")
	p.write("a", "three\n")
	p.command("git", "commit", "-qam", "three")
	p.command("git", "checkout", "-q", "other")
	p.write("a", "four\n")
	p.command("git", "commit", "-qam", "four")
	merge := exec.Command("git", "merge", "-q", "third")
	merge.Dir = p.root
	_ = merge.Run() // a conflict
	_ = os.RemoveAll(filepath.Join(p.home, "tree"))
	p.reopen("")
	expect(t, "within a conflict", p.changes(func() { p.write("a", "solved\n") }), []string{"M a"})
	if err := os.WriteFile(filepath.Join(p.home, "tree", "git", "index.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.reopen("")
	expect(t, "after a crash", p.changes(func() { p.write("b", "b\n") }), []string{"A b"})
	if err := os.WriteFile(filepath.Join(p.home, "tree", "git", "index"), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.reopen("")
	expect(t, "with a damaged index", p.changes(func() { p.write("b", "c\n") }), []string{"M b"})
}

// SN-8: what captures wrote and no longer need is removed, below a worktree that is in use as well.
func TestPruneObjects(t *testing.T) {
	p := newRepository(t)
	dir := filepath.Join(p.home, "tree")
	for _, content := range []string{"one", "two", "three"} {
		p.write("a", content)
		p.mustCapture()
	}
	p.write("b", "young")
	count := func() (n int) {
		objects := filepath.Join(dir, "git", "objects")
		err := filepath.WalkDir(objects, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				n++
				makeOld(t, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	makeOld(t, dir)
	p.mustCapture()
	if info, err := os.Stat(dir); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the directory's time is not that of the capture: %v, %v", info, err)
	}
	before := count()
	if err := PruneObjects(t.Context(), p.git, dir); err != nil {
		t.Fatal(err)
	}
	if after := count(); after >= before-3 || after == 0 {
		t.Errorf("%d objects, then %d", before, after)
	}
	expect(t, "after it", p.changes(func() { p.write("a", "four") }), []string{"M a"})
	if err := os.RemoveAll(filepath.Join(dir, "git")); err != nil {
		t.Fatal(err)
	}
	expect(t, "without the directory", p.changes(func() { p.write("a", "five") }), []string{"M a"})
}

// SN-7: a directory that is too large is refused, later without reading it again; files of it can still be stored.
func TestTooLarge(t *testing.T) {
	p := newDirectory(t)
	p.capturer.(*dirTree).options.MaxFiles = 2
	for i := range 3 {
		p.write(fmt.Sprint(i), "x")
	}
	if _, err := p.CaptureTree(t.Context()); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the capture of three files: %v", err)
	}
	if err := os.Remove(filepath.Join(p.root, "0")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CaptureTree(t.Context()); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the directory was read again: %v", err)
	}
	p.write("a", "a")
	if s, err := p.Save(t.Context(), "a"); err != nil || s.Blob != blobID([]byte("a")) {
		t.Errorf("%v, %v", s, err)
	}
}

// SN-8: pinned contents stay; others go after a day; over the limit, those of the session that was quiet longest go.
func TestCollect(t *testing.T) {
	b := NewBlobs(t.TempDir())
	ids := map[string]string{}
	for _, name := range []string{"old", "pinned", "new", "quiet"} {
		id, err := b.Put([]byte(name))
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = id
		if name != "new" {
			makeOld(t, b.blobPath(id))
		}
	}
	for owner, name := range map[string]string{"ses_quiet": "quiet", "ses_busy": "pinned"} {
		if err := b.PinBlobs(owner, []string{ids[name]}); err != nil {
			t.Fatal(err)
		}
	}
	makeOld(t, b.pinFile("ses_quiet"))
	collect := func(limit int64) string {
		if err := b.Collect(t.Context(), limit); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, name := range []string{"old", "pinned", "new", "quiet"} {
			if b.HasBlob(ids[name]) {
				out = append(out, name)
			}
		}
		return strings.Join(out, " ")
	}
	if got := collect(0); got != "pinned new quiet" {
		t.Errorf("without a limit: %s", got)
	}
	if got := collect(1); got != "pinned new" {
		t.Errorf("over the limit: %s", got)
	}
	if err := os.Remove(b.pinFile("ses_busy")); err != nil {
		t.Fatal(err)
	}
	if got := collect(0); got != "new" {
		t.Errorf("after the session was deleted: %s", got)
	}
}

// makeOld makes a file older than the time for which a content without a pin stays.
func makeOld(t *testing.T, path string) {
	old := unpinnedRetention + 1
	info, err := os.Stat(path)
	if err == nil {
		err = os.Chtimes(path, info.ModTime().Add(-old), info.ModTime().Add(-old))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// SN-9: a damaged content is an error, never another content.
func TestDamagedBlob(t *testing.T) {
	b := NewBlobs(t.TempDir())
	id, err := b.Put([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := b.Put([]byte("another"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(b.blobPath(other))
	if err == nil {
		err = os.WriteFile(b.blobPath(id), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Read(id, 100); err == nil {
		t.Errorf("got %q", got)
	}
	if read, damaged, err := b.ListDamaged(t.Context()); read != 2 || err != nil || !slices.Equal(
		damaged, []string{b.blobPath(id)},
	) {
		t.Errorf("read %d, damaged %q, error %v", read, damaged, err)
	}
	for _, bad := range []string{"", "../../../../etc/passwd", strings.Repeat("z", 40)} {
		if _, err := b.Read(bad, 100); err == nil || b.HasBlob(bad) {
			t.Errorf("%q was read", bad)
		}
	}
}

// SN-2: files that a capture leaves out are named when they changed, and are never held to be new or removed.
func TestOmitted(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		big := strings.Repeat("x", maxUntracked+1)
		p.write("shrinks", big)
		p.write("grows", "small")
		p.write("stays", big)
		p.write("changes", big)
		p.write("goes", big)
		before := p.mustCapture()
		for name, content := range map[string]string{
			"shrinks": "small", "grows": big, "changes": big + "y", "comes": big, "new": "small",
		} {
			p.write(name, content)
		}
		if err := os.Remove(filepath.Join(p.root, "goes")); err != nil {
			t.Fatal(err)
		}
		found, omitted, err := p.Compare(t.Context(), before, p.mustCapture(), 10)
		var names []string
		for _, c := range found {
			names = append(names, string(c.Path))
		}
		want := "[] [changes comes goes grows new shrinks]" // new may be made from goes
		if p.git != "" {                                    // what was captured once is captured again
			want = "[grows] [changes comes goes new shrinks]"
		}
		if got := fmt.Sprint(names, omitted); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	})
}

// A capture without a change runs git once, also if the times of files changed; then git refreshes its index.
func TestUnchangedCaptureRunsGitOnce(t *testing.T) {
	p := newRepository(t)
	log := filepath.Join(t.TempDir(), "log")
	wrapper := filepath.Join(t.TempDir(), "git")
	script := fmt.Sprintf("#!/bin/sh\necho \"$2\" >> %s\nexec %s \"$@\"\n", log, p.git)
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	p.git = wrapper
	for _, name := range []string{"a", "b/c", "b/ignored", "renamed"} {
		p.write(name, name)
	}
	p.write(".gitignore", "ignored\n")
	p.command("git", "add", "a", ".gitignore")
	p.command("git", "commit", "-qm", "one")
	p.reopen("")
	expect(t, "changed", p.changes(func() {
		p.write("a", "other")
		p.command("mv", "renamed", "d")
	}), []string{"M a", "A d", "D renamed"})
	before := p.mustCapture()
	if err := os.Chtimes(filepath.Join(p.root, "b/c"), time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
		if after := p.mustCapture(); after != before {
			t.Errorf("captured %s, then %s", before, after)
		}
		if calls, err := os.ReadFile(log); err != nil || string(calls) != "status\n" {
			t.Errorf("git ran %q: %v", calls, err)
		}
	}
}

// If what HEAD names is gone, the capture is made anew.
func TestCaptureWithoutHead(t *testing.T) {
	p := newRepository(t)
	p.write("a", "a")
	expect(t, "changed", p.changes(func() { p.write("a", "b") }), []string{"M a"})
	head, err := os.ReadFile(filepath.Join(p.home, "tree", "git", "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(head))
	if err := os.Remove(filepath.Join(p.home, "tree", "git", "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	expect(t, "again", p.changes(func() { p.write("a", "c") }), []string{"M a"})
}

// TestTemporaryFiles checks that files that cairn writes before it renames them to their places are no changes.
func TestTemporaryFiles(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		got := p.changes(func() {
			p.write(".cairn-1.tmp", "x")
			p.write("sub/.cairn-2.tmp", "x")
			p.write("sub/cairn-3.tmp", "x")
		})
		if !slices.Equal(got, []string{"A sub/cairn-3.tmp"}) {
			t.Errorf("the changes are %v", got)
		}
	})
}
