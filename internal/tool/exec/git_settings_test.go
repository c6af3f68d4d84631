package exec_test

import (
	"os"
	osexec "os/exec"
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/exec"
	"github.com/cairn-dev/cairn/internal/tool/tooltest"
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
	b.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	for _, command := range []string{"status", "diff", "ls-files", "blame HEAD"} {
		b.Call("bash", tooltest.Input{"command": "cd evil && git " + command})
		if _, err := os.Stat(b.Path("PWNED")); err == nil {
			t.Fatalf("git %s ran the program of the embedded repository", command)
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
