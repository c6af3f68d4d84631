package permission_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/permission"
)

// "always" saves the words that name an ordinary command, or exactly the text of one that destroys, runs others or
// cannot be read.
func TestSavePattern(t *testing.T) {
	for text, want := range map[string]string{
		"ls -la": "ls *", "git status --short": "git status *", "git remote -v": "git remote *",
		"git stash pop x": "git stash pop *",
		"LC_ALL=C ls":     "ls *", "'my prog' x": "'my prog' x", "go test ./...": "go test *",
		"kubectl get pods": "kubectl get *",
		"rm -rf build":     "rm -rf build", "rm *.o": `rm \*.o`, "npm test": "npm test", "npx x": "npx x", "psql": "psql",
		"git -C a status": "git -C a status", "git lg": "git lg", "sudo ls": "sudo ls", "./x y": "./x y", "git": "git",
		"ls $(x) *": `ls $(x) \*`, "$X y": "$X y", "git diff $X": "git diff $X", "go generate ./...": "go generate ./...",
	} {
		got := permission.SavePattern(text)
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		asks := []permission.Layer{layer("user", "bash | * | ask")}
		if d := permission.Evaluate(asks, rules("bash | "+got+" | allow"), "bash", text); d.Effect != "allow" {
			t.Errorf("%s is %s with its own approval %q", text, d.Effect, got)
		}
	}
}
