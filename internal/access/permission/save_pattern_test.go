package permission_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/access/permission"
)

// "always" saves a pattern for what only reads or runs the project's own code, else exactly the text.
func TestSavePattern(t *testing.T) {
	for text, want := range map[string]string{
		"ls -la":                    "ls *",
		"git status --short":        "git status *",
		"git log -n5 --oneline":     "git log *",
		"git log --output=x":        "git log --output=x",
		"git -C a log":              "git -C a log",
		"git stash list":            "git stash list *",
		"git remote -v":             "git remote -v",
		"go test ./...":             "go test *",
		"npm test":                  "npm test *",
		"npm run build -- -x":       "npm run build *",
		"npm run":                   "npm run",
		"make -j4":                  "make *",
		"make > x":                  "make > x",
		"python3 -m pytest -q":      "python3 -m pytest *",
		"python3 x.py":              "python3 x.py",
		"go run .":                  "go run .",
		"cat a*":                    "cat *",
		"rm -rf build":              "rm -rf build",
		"cross-env A=1 ls":          "cross-env A=1 ls",
		"find . -name x":            "find *",
		"find . -delete":            "find . -delete",
		"sort -o x y":               "sort -o x y",
		"sudo ls":                   "sudo ls",
		"./ls x":                    "./ls x",
		"/bin/ls":                   "/bin/ls *",
		"ls $(x) *":                 `ls $(x) \*`,
		"docker ps":                 "docker ps *",
		"docker run x":              "docker run x",
		"hyperfine ls":              "hyperfine ls",
		"pytest -q":                 "pytest *",
		"unzip a.zip":               "unzip a.zip",
		"gh pr view 3 --json title": "gh pr view *",
		"gh pr merge 3":             "gh pr merge 3",
	} {
		got := permission.SavePattern(text)
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		asks := []permission.Layer{layer("user", "bash | * | ask")}
		if d := permission.Evaluate(asks, rules("bash | "+got+" | allow"), "bash", text); d.Effect != "allow" {
			t.Errorf("%s is %s with its own approval %q", text, d.Effect, got)
		}
		if !permission.IsOffered(got) && got != "/bin/ls *" {
			t.Errorf("%q is offered and then not", got)
		}
	}
	for _, old := range []string{"npx *", "git *", "cross-env *", "find", "rm *", "npm run *", "*", "git remote *"} {
		if offered := permission.IsOffered(old); offered != (old == "find") {
			t.Errorf("%q: %v", old, offered)
		}
	}
}
