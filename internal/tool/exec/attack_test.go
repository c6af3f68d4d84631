//go:build linux

package exec_test

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/access/shell"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// attacked is a project that each attack finds in the same state.
type attacked struct {
	*tooltest.Bench
	outside string
	before  map[string]string // the files of the project and of the directory beside it
}

func newAttacked(t *testing.T) *attacked {
	t.Helper()
	a := &attacked{Bench: tooltest.New(t, func(c *tooltest.Config) {
		withSupervisor(c)
		dir := c.Exec.Paths.Directory
		var guarded []string
		for _, name := range []string{".git/config", ".git/hooks", "cairn.json"} {
			guarded = append(guarded, filepath.Join(dir, name))
		}
		held := filepath.Join(filepath.Dir(dir), "held")
		c.Exec.Sandbox = func(tool.CellRequest) (tool.Cell, error) {
			return tool.Cell{Policy: sandbox.Policy{Write: []string{dir}, ReadOnly: guarded, Network: true}, Held: held}, nil
		}
	})}
	a.Confinement = tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
	a.outside = a.OutsidePath("outside")
	t.Setenv("HOME", a.OutsidePath("outside/home"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	a.restore()
	a.before = a.files()
	return a
}

// restore makes the project anew.
func (a *attacked) restore() {
	a.T.Helper()
	for _, dir := range []string{a.Dir, a.outside} {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			a.T.Fatal("read the project:", err)
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				a.T.Fatal("empty the project:", err)
			}
		}
	}
	a.WriteFile("a.txt", "a\n")
	a.WriteFile("victim", "victim\n")
	a.WriteFile("d/b.txt", "b\n")
	a.WriteFile(".env", "SECRET=1\n")
	a.WriteFile("list", ".env\n")
	a.WriteFile("list0", ".env\x00")
	a.WriteFile("suffix", "nv\n")
	a.WriteFile("cd", "")
	a.WriteFile("p.diff", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n")
	a.WriteFile("hook", "#!/bin/sh\n")
	a.WriteFile(".git/HEAD", "ref: refs/heads/main\n")
	a.WriteFile(".git/config", "[user]\n\tname = a\n\temail = a@b.c\n")
	a.WriteFile(".git/hooks/README", "")
	for _, dir := range []string{".git/objects", ".git/refs/heads"} {
		if err := os.MkdirAll(a.Path(dir), 0o755); err != nil {
			a.T.Fatal("make a repository:", err)
		}
	}
	a.WriteFile("evil/HEAD", "ref: refs/heads/main\n")
	a.WriteFile("evil/config", "[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch ../PWNED; true\n")
	a.WriteFile("evil/objects/x", "")
	a.WriteFile("evil/refs/x", "")
	a.WriteFile("Makefile", "all:\n\t@true\n")
	a.WriteFile(filepath.Join(a.outside, "secret.txt"), "SECRET=2\n")
	a.WriteFile(filepath.Join(a.outside, "home/.profile"), "")
	for name, target := range map[string]string{
		"l": ".", "k": ".env", "g": ".git/hooks", "o": "../outside", "c": ".git/config", "proc": "/proc/self",
	} {
		a.Symlink(target, name)
	}
}

// files are the contents of all files and links of the project and beside it.
func (a *attacked) files() map[string]string {
	a.T.Helper()
	out := map[string]string{}
	for _, dir := range []string{a.Dir, a.outside} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.Type()&fs.ModeSymlink != 0:
				out[path], err = os.Readlink(path)
			case e.Type().IsRegular():
				var data []byte
				data, err = os.ReadFile(path)
				out[path] = string(data)
			}
			return err
		})
		if err != nil {
			a.T.Fatal("read the project:", err)
		}
	}
	return out
}

// attack runs the command if the rules allow it and returns what it did that the rules forbid, "" for nothing.
func (a *attacked) attack(rules []session.Rule, command string) (ran bool, harm string) {
	a.T.Helper()
	a.Rules = rules
	s := a.Call("bash", tooltest.Input{"command": command, "timeout": 5000})
	if s.Denial != nil {
		return false, ""
	}
	after := a.files()
	defer a.restore()
	for path, content := range after {
		old, known := a.before[path]
		if known && old == content {
			continue
		}
		rel, _ := filepath.Rel(a.Dir, path)
		switch {
		case strings.HasPrefix(path, a.outside):
			return true, "wrote " + path
		case isGuarded(rel):
			return true, "wrote " + rel
		}
	}
	for path := range a.before {
		if _, ok := after[path]; !ok && strings.HasPrefix(path, a.outside) {
			return true, "removed " + path
		}
	}
	return true, ""
}

// isPlain reports that patterns apply to the command.
func isPlain(command string) bool {
	_, err := shell.Parse(command)
	return err == nil
}

// isGuarded reports that a file of the project is one whose change always asks.
func isGuarded(rel string) bool {
	return strings.HasPrefix(rel, ".git/hooks/") || rel == ".git/config" || strings.HasPrefix(rel, "cairn.json")
}

func allowRules(rules ...string) (out []session.Rule) {
	for _, r := range rules {
		action, rest, _ := strings.Cut(r, " | ")
		resource, effect, _ := strings.Cut(rest, " | ")
		out = append(out, session.Rule{Action: action, Resource: resource, Effect: session.Effect(effect)})
	}
	return out
}

// attackClasses are rules under which no attack writes outside of the project or to a guarded file.
var attackClasses = []struct {
	name    string
	rules   []session.Rule
	allowed string // commands that are no attacks and must run
}{
	{"patterns", allowRules(
		"* | * | ask", "read | * | allow", "edit | * | allow", "external_directory | * | deny", "bash | ?* | allow",
	), `
		ls
		ls -la d | cat
		cat a.txt && echo 'done; $(ls)'
		cp a.txt out
		mkdir -p x/y && cp a.txt x/y
		git status`},
	{"everything", allowRules("* | * | allow", "external_directory | * | deny"), `
		sed -i 's/a/b/' a.txt
		env -C d cp b.txt out
		for i in a b; do echo $i; done > out
		git add a.txt
		make all > d/log 2>&1
		sh -c 'cat a.txt'`},
}

// allAttacks try to write outside of the project or to a guarded file, or to run a command that does.
func allAttacks(dir string) []string {
	return slices.Sorted(maps.Keys(collect(slices.Concat(
		runAttacks(dir), redirectAttacks, writeAttacks(dir), outsideAttacks(dir),
	))))
}

// No attack has an effect that the rules and the sandbox forbid, and no pattern allows one that is not plain.
func TestAttacks(t *testing.T) {
	if _, err := osexec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	if err := cmp.Or(sandbox.Check(), sandbox.CheckNamespace()); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	for _, class := range attackClasses {
		t.Run(class.name, func(t *testing.T) {
			a, ran := newAttacked(t), 0
			attacks := allAttacks(a.Dir)
			if os.Getenv("CAIRN_SOAK") == "" { // many are alike
				attacks = takeEvery(8, attacks)
			}
			for _, command := range attacks {
				wasRun, harm := a.attack(class.rules, command)
				if wasRun {
					ran++
				}
				if wasRun && class.name == "patterns" && !isPlain(command) {
					harm = "is not plain and ran"
				}
				if harm != "" {
					t.Errorf("%q %s", strings.ReplaceAll(command, a.Dir, "DIR"), harm)
				}
			}
			for _, command := range tableLines(class.allowed) {
				if wasRun, harm := a.attack(class.rules, command); !wasRun || harm != "" {
					t.Errorf("%q, which is no attack: ran %t %s", command, wasRun, harm)
				}
			}
			t.Logf("%d attacks, %d ran", len(attacks), ran)
			if len(attacks) < 1000 || ran < 200 {
				t.Errorf("%d attacks, %d ran: this proves little", len(attacks), ran)
			}
		})
	}
}

// takeEvery returns each n-th element.
func takeEvery(n int, list []string) (some []string) {
	for i := 0; i < len(list); i += n {
		some = append(some, list[i])
	}
	return some
}

func collect(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}
