package protected

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/checkout"
)

// runGit runs git commands in a directory, one a line.
func runGit(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(
		os.Environ(),
		"HOME="+t.TempDir(),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b",
		"GIT_ALLOW_PROTOCOL=file",
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestListProtectedPaths(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	top, home := t.TempDir(), t.TempDir()
	runGit(t, top, `git init -q part; git -C part commit -q --allow-empty -m a
		git init -q main; cd main; git commit -q --allow-empty -m a
		git -c protocol.file.allow=always submodule --quiet add --name lib/part ../part deep/part
		git worktree add -q ../linked; git init -q nested; git init -q deep/new`)
	main, linked := filepath.Join(top, "main"), filepath.Join(top, "linked")
	for name, c := range map[string]struct {
		dirs, writable []string
		has, lacks     []string
	}{
		"repository": {
			[]string{main},
			[]string{main},
			[]string{
				main + "/.git/config", main + "/.git/hooks", main + "/.git/commondir", main + "/.git/modules/lib/part/config",
				main + "/.git/modules/lib/part/hooks", main + "/.git/worktrees/linked/commondir",
				main + "/.git/worktrees/linked/config.worktree", main + "/.git/worktrees/linked/gitdir",
				main + "/Jenkinsfile",
				main + "/.cursor", main + "/.nvim.lua",
				main + "/deep/part/.git", main + "/nested/.git/config", main + "/.envrc",
				main + "/.github/workflows", main + "/cairn.json", main + "/.claude",
			},
			[]string{
				main + "/.git", main + "/deep/new/.git/config", home + "/.bashrc", main + "/.bashrc",
				home + "/.claude",
			},
		},
		"linked worktree": {
			[]string{linked},
			[]string{linked},
			[]string{linked + "/.git", linked + "/.vscode"},
			[]string{main + "/.git/config"},
		},
		"linked worktree and its repository": {
			[]string{linked},
			[]string{linked, main + "/.git"},
			[]string{linked + "/.git", main + "/.git/config", main + "/.git/worktrees/linked/commondir"},
			nil,
		},
		"no repository": {[]string{home}, []string{top}, nil, []string{home + "/.envrc"}},
		"settings folder": {
			[]string{main}, []string{home}, []string{home + "/.config/fish", home + "/.bashrc"}, []string{home},
		},
	} {
		got := ListPaths(c.dirs, c.writable, home)
		for _, path := range c.has {
			if !slices.Contains(got, path) {
				t.Errorf("%s: %s is missing in\n%s", name, path, strings.Join(got, "\n"))
			}
		}
		for _, path := range c.lacks {
			if slices.Contains(got, path) {
				t.Errorf("%s: %s is protected", name, path)
			}
		}
	}
}

// Directories of hooks and further settings files inside the project are protected, however the settings name them.
func TestListSettingTargets(t *testing.T) {
	top, home := t.TempDir(), t.TempDir()
	runGit(t, top, `git init -q .; git config core.hooksPath .githooks; git config include.path ../.gitconfig
		git config --add include.path /etc/gitconfig; git config includeIf.gitdir:x.path ../conf/more
		mkdir conf conf/hooks scripts; touch scripts/check scripts/other; ln -s ../../scripts/check .git/hooks/pre-commit
		ln -s ../../scripts/next conf/hooks/pre-push; ln -s other scripts/next; rm scripts/other; git config -f .gitconfig core.hooksPath conf/hooks; git config -f .gitconfig include.path deep`)
	write(t, filepath.Join(home, ".gitconfig"), "[core]\n\thooksPath = shared/hooks\n[include]\n\tpath = ~/other\n")
	write(t, filepath.Join(home, "other"), "[core]\nhooksPath = "+top+"\n[core]\nhooksPath = more\n")
	want := []string{
		".githooks", ".gitconfig", "conf/more", "conf/hooks", "deep", "shared/hooks", "more",
		"scripts/check", "scripts/next", "scripts/other",
	}
	got := ListPaths([]string{top}, []string{top}, home)
	for _, name := range want {
		if !slices.Contains(got, filepath.Join(top, name)) {
			t.Errorf("%s is missing in\n%s", name, strings.Join(got, "\n"))
		}
	}
	if slices.Contains(got, top) || slices.Contains(got, "/etc/gitconfig") {
		t.Errorf("too much is protected:\n%s", strings.Join(got, "\n"))
	}
	runGit(t, top, "for i in $(seq 40); do git config --add include.path ../more$i; done")
	if got := listSettingTargets(top, []string{top}, home); len(got) != checkout.MaxTargets+1 { // and a link
		t.Errorf("%d targets", len(got))
	}
}

// Of protected names deeper in a project, those that exist are found, also after changes.
func TestListNestedNames(t *testing.T) {
	top := t.TempDir()
	runGit(t, top, `git init -q a/repository; mkdir -p a/b/c/.vscode a/node_modules/d/.vscode .claude/e/.husky
		touch a/b/.envrc a/b/f; ln -s a/b link`)
	var n NestedNames
	want := func(want ...string) {
		t.Helper()
		var got []string
		for _, path := range n.ListPaths([]string{top}, []string{top}) {
			rel, _ := filepath.Rel(top, path)
			got = append(got, rel)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	repository := []string{"a/repository/.git/config", "a/repository/.git/hooks"}
	want(append([]string{"a/b/.envrc", "a/b/c/.vscode"}, repository...)...)
	runGit(t, top, "touch a/b/c/.mcp.json; rm a/b/.envrc")
	for range 2 {
		want(append([]string{"a/b/c/.mcp.json", "a/b/c/.vscode"}, repository...)...)
	}
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{"", "a", "a/b", "a/b/c", "a/repository"} {
		if err := os.Chtimes(filepath.Join(top, dir), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		want(append([]string{"a/b/c/.mcp.json", "a/b/c/.vscode"}, repository...)...)
	}
	runGit(t, top, "touch a/b/.mcp.json; touch -d '1 hour ago' a/b")
	want(append([]string{"a/b/.mcp.json", "a/b/c/.mcp.json", "a/b/c/.vscode"}, repository...)...)
	for i := range 2 * maxFolders {
		if err := os.MkdirAll(filepath.Join(top, "many", fmt.Sprint(i), "more"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if n.find([]string{top}); len(*n.seen.Load()) != maxFolders {
		t.Errorf("%d directories were read", len(*n.seen.Load()))
	}
}

// write writes a file, with its directories.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal("make a directory:", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal("write a file:", err)
	}
}
