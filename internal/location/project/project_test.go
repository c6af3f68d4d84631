package project

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// noGit is a git that is not installed.
const noGit = "/nowhere/git"

func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := filepath.Join(realTemp(t), "repo")
	runGit(t, "", "init", "-q", dir)
	return dir
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func commit(t *testing.T, dir, message string) string {
	t.Helper()
	runGit(t, dir, "commit", "-q", "--allow-empty", "-m", message)
	return runGit(t, dir, "rev-parse", "HEAD")
}

func find(t *testing.T, f *Finder, dir string) Project {
	t.Helper()
	p, err := f.Find(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// diffProject compares but for the identity of files.
func diffProject(want, got Project) string {
	got.anchor, got.file = "", ""
	return cmp.Diff(want, got, cmp.AllowUnexported(Project{}))
}

func TestRepository(t *testing.T) {
	repo := repository(t)
	f := &Finder{}
	if diff := diffProject(Project{ID: Global, Directory: repo, Worktree: repo, Main: repo}, find(t, f, repo)); diff != "" {
		t.Error("without a commit:", diff)
	}
	root := session.ProjectID(commit(t, repo, "one"))
	commit(t, repo, "two")
	sub := filepath.Join(repo, "a", "b")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if diff := diffProject(Project{ID: root, Root: string(root), Directory: sub, Worktree: repo, Main: repo, Subpath: "a/b"}, find(t, f, sub)); diff != "" {
		t.Error(diff)
	}
	link := filepath.Join(filepath.Dir(repo), "link")
	if err := os.Symlink(sub, link); err != nil {
		t.Skip(err)
	}
	if got := find(t, f, link); got.Directory != sub || got.Worktree != repo {
		t.Errorf("through a symlink: %+v", got)
	}

	worktree := filepath.Join(filepath.Dir(repo), "other")
	runGit(t, repo, "worktree", "add", "-q", worktree)
	if diff := diffProject(Project{ID: root, Root: string(root), Directory: worktree, Worktree: worktree, Main: repo}, find(t, f, worktree)); diff != "" {
		t.Error("a worktree:", diff)
	}
	clone := filepath.Join(filepath.Dir(repo), "clone")
	runGit(t, "", "clone", "-q", repo, clone)
	if got := find(t, f, clone); got.ID != root {
		t.Errorf("a clone: %+v", got)
	}
}

func TestOutsideOfRepositories(t *testing.T) {
	dir := realTemp(t)
	got := find(t, &Finder{}, dir)
	if top := got.Worktree; top != "" && strings.HasPrefix(dir, top) && top != dir {
		t.Skip("the temporary directory is in a checkout")
	}
	if diff := diffProject(Project{ID: Global, Directory: dir}, got); diff != "" || got.IsGit() {
		t.Error(diff)
	}
	for name, content := range map[string]string{".git": "no link", "sub/.git": "gitdir: ../nowhere\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := find(t, &Finder{}, filepath.Dir(path)); got.IsGit() {
			t.Errorf("%s made a checkout: %+v", name, got)
		}
	}
}

func TestBadDirectories(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "relative", "/nowhere/at/all", file} {
		_, err := new(Finder).Find(t.Context(), dir)
		if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeInvalid || e.Field != "directory" {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

// TestHostileRepositoryRunsNothing uses a repository whose configuration would run a program at every occasion.
func TestHostileRepositoryRunsNothing(t *testing.T) {
	repo := repository(t)
	root := session.ProjectID(commit(t, repo, "one"))
	trace := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(repo, "evil.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >> "+trace+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "pager.rev-list", "core.sshCommand", "core.editor", "core.askPass",
		"credential.helper",
		"core.alternateRefsCommand", "gpg.program", "diff.external", "core.gitProxy", "uploadpack.packObjectsHook",
		"filter.x.clean", "alias.rev-list", "remote.origin.uploadpack",
	} {
		runGit(t, repo, "config", key, script)
	}
	runGit(t, repo, "config", "log.showSignature", "true")
	runGit(t, repo, "config", "core.hooksPath", repo)
	runGit(t, repo, "config", "remote.origin.url", "ext::"+script)
	runGit(t, repo, "config", "protocol.ext.allow", "always")
	runGit(t, repo, "config", "remote.origin.promisor", "true")
	runGit(t, repo, "config", "core.repositoryformatversion", "1")
	runGit(t, repo, "config", "extensions.partialClone", "origin")
	if got := find(t, &Finder{}, repo); got.ID != root {
		t.Errorf("got %+v", got)
	}
	// A missing object makes git ask the promisor.
	runGit(t, repo, "update-ref", "--no-deref", "HEAD", string(root))
	obj := filepath.Join(repo, ".git", "objects", string(root[:2]), string(root[2:]))
	if err := os.Remove(obj); err != nil {
		t.Fatal(err)
	}
	if got := find(t, &Finder{}, repo); got.ID != Global {
		t.Errorf("got %+v", got)
	}
	if ran, err := os.ReadFile(trace); err == nil {
		t.Errorf("the repository ran something: %s", ran)
	}
}

func TestVariablesOfTheUserDoNotApply(t *testing.T) {
	repo := repository(t)
	root := session.ProjectID(commit(t, repo, "one"))
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.repositoryformatversion")
	t.Setenv("GIT_CONFIG_VALUE_0", "99")
	if got := find(t, &Finder{}, repo); got.ID != root {
		t.Errorf("got %+v", got)
	}
}

func TestCancelled(t *testing.T) {
	repo := repository(t)
	commit(t, repo, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(Finder).Find(ctx, repo); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestInitRepositoryIsRefused(t *testing.T) {
	var f Finder
	root := filepath.VolumeName(t.TempDir()) + string(filepath.Separator)
	missing := filepath.Join(t.TempDir(), "missing")
	for _, dir := range []string{root, missing} {
		err := f.InitRepository(t.Context(), Project{Directory: dir})
		if !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
