package host

import (
	"os"
	"os/exec"
	"testing"
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
