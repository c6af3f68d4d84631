package exec_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool/exec"
)

// A folder of a repository that is a bare repository, with a program for git to run in its configuration, runs nothing.
func TestEmbeddedRepositoryRunsNothing(t *testing.T) {
	if _, err := osexec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	b := tooltest.New(t)
	run := func(command string) {
		t.Helper()
		cmd := osexec.CommandContext(t.Context(), "/bin/sh", "-c", command)
		cmd.Dir = b.Dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", command, err, out)
		}
	}
	run("git init -q . && git init -q --bare evil")
	b.WriteFile("evil/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"+
		"\tfsmonitor = touch "+b.Path("PWNED")+"\n")
	run("cd evil && git status; test -e ../PWNED && rm ../PWNED") // the attack works with git alone
	run(`git init -q part && git -C part commit -q --allow-empty -m a && git add part 2>&1
		git -C part config core.fsmonitor "touch $PWD/PWNED" && git status && rm PWNED`)
	b.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	for _, command := range []string{
		"cd evil && git status", "cd evil && git diff", "cd evil && git ls-files", "cd evil && git blame HEAD",
		"git -C evil status", "git status", "git diff", "git submodule status", "git -C part status", "git add .",
	} {
		b.Call("bash", tooltest.Input{"command": command})
		if _, err := os.Stat(b.Path("PWNED")); err == nil {
			t.Fatalf("%s ran the program of the embedded repository", command)
		}
	}
}

// Settings for git that the environment has stay.
func TestGitSettingsAreAdded(t *testing.T) {
	env := exec.Config{
		Env: []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"},
	}.Environment()
	for _, want := range []string{
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_KEY_1=safe.bareRepository", "GIT_CONFIG_VALUE_1=explicit",
		"GIT_CONFIG_KEY_2=core.fsmonitor", "GIT_CONFIG_VALUE_2=false",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %q", want, env)
		}
	}
}

// A command of git that changes the settings of a repository without naming them asks for the file that git writes.
func TestGitSettingsAreNamed(t *testing.T) {
	if _, err := osexec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	b := tooltest.New(t, func(c *tooltest.Config) {
		c.Exec.Repository = filepath.Join(filepath.Dir(c.Exec.Paths.Directory), "main", ".git")
	})
	cmd := osexec.CommandContext(
		t.Context(),
		"/bin/bash",
		"-ec",
		`git init -q part; git -C part commit -q --allow-empty -m a
		git init -q main; cd main; git commit -q --allow-empty -m a; git remote add origin x; git worktree add -q `+b.Dir+`
		cd `+b.Dir+`; mkdir sub plain; git init -q own; mkdir own/.git/modules; git init -q separate --separate-git-dir own/.git/modules/s`,
	)
	cmd.Dir = filepath.Dir(b.Dir)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "HOME="+b.Dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	b.Rules = []session.Rule{
		{
			Action:   "*",
			Resource: "*",
			Effect:   session.Deny,
		}, {Action: "external_directory", Resource: "*", Effect: session.Allow},
	}
	for command, want := range map[string]string{
		"git remote add x y":                    ".git/config",
		"cd sub && git push -u origin main":     ".git/config",
		"git -C sub remote add x y":             ".git/config",
		"git -C own remote add x y":             "own/.git/config",
		"cd separate; git config a.b c":         "own/.git/modules/s/config",
		"git -C ../part remote add x y":         filepath.Join(filepath.Dir(b.Dir), "part/.git/config"),
		"git worktree remove ../x":              ".git/worktrees",
		"git switch -c new origin/feat":         ".git/config",
		"git checkout -b new origin/a/b":        ".git/config",
		"git branch new origin/feat":            ".git/config",
		"git worktree add -b x ../x origin/x":   ".git/config",
		"git init":                              ".git/config",
		"git branch --no-track new origin/feat": "",
		"git switch -c origin2/x":               "",
		"git checkout origin/feat":              "",
		"git branch new fix/a":                  "",
		"git branch -d old":                     "",
		"git -C ../.. init":                     "",
		"git init new":                          "",
		"git remote show origin":                "",
	} {
		b.TakeRequests()
		b.Call("bash", tooltest.Input{"command": command})
		got := ""
		for _, r := range b.TakeRequests() {
			if name, ok := strings.CutPrefix(r, "edit "); ok {
				got = strings.TrimSpace(got + " " + strings.ReplaceAll(name, ",", " "))
			}
		}
		if got != want {
			t.Errorf("%s asks for %q, want %q", command, got, want)
		}
	}
}
