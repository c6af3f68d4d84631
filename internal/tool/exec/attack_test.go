//go:build linux

package exec_test

import (
	"encoding/base64"
	"io/fs"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/shell"
	"github.com/cairn-dev/cairn/internal/tool/tooltest"
)

// The canaries: what a command that is not allowed to must not print, and the file that it must not make.
const (
	secretInside  = "SECRET=inside-5e7d"
	secretOutside = "SECRET=outside-91c4"
	ownedFile     = "PWNED"
)

// attacked is a project that each attack finds in the same state.
type attacked struct {
	*tooltest.Bench
	outside string
	before  map[string]string // the files of the project and of the directory beside it
}

func newAttacked(t *testing.T) *attacked {
	t.Helper()
	a := &attacked{Bench: tooltest.New(t)}
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
	a.WriteFile(".env", secretInside+"\n")
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
	a.WriteFile(filepath.Join(a.outside, "secret.txt"), secretOutside+"\n")
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
	text := tooltest.TextOf(s)
	for path, content := range after {
		old, known := a.before[path]
		if known && old == content {
			continue
		}
		rel, _ := filepath.Rel(a.Dir, path)
		switch {
		case filepath.Base(path) == ownedFile:
			return true, "a command of its own ran"
		case strings.HasPrefix(path, a.outside):
			return true, "wrote " + path
		case isGuarded(rel):
			return true, "wrote " + rel
		}
		text += content
	}
	for path := range a.before {
		if _, ok := after[path]; !ok && (filepath.Base(path) == "victim" || strings.HasPrefix(path, a.outside)) {
			return true, "removed " + path
		}
	}
	for _, secret := range []string{secretOutside, secretInside} {
		if strings.Contains(text, secret) ||
			strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret+"\n"))) {
			return true, "showed " + secret
		}
	}
	return true, ""
}

// isPlain reports that each word of the command is known, and that no program runs what it reads.
func isPlain(command string) bool {
	line, err := shell.Parse(command)
	return err == nil && !slices.ContainsFunc(line.Commands, func(c shell.Command) bool {
		return strings.Contains(" sh bash eval xargs ", " "+c.Words[0].Text+" ") ||
			slices.ContainsFunc(c.Words, func(w shell.Word) bool { return !w.Literal && !w.Tilde })
	})
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

// attackClasses are the rules under which the attacks of a class must not succeed.
var attackClasses = []struct {
	name    string
	rules   []session.Rule
	attacks func(dir string) []string
	allowed string // commands that are no attacks and must run
}{
	{"allow list", allowRules(
		"* | * | ask", "read | * | allow", "edit | * | deny", "external_directory | * | deny", "read | *.env | deny",
		"bash | ls * | allow", "bash | echo * | allow", "bash | cat * | allow", "bash | git status* | allow",
		"bash | git diff* | allow", "bash | make * | allow", "bash | rm * | deny", "bash | touch * | deny",
	), func(dir string) []string { return append(runAttacks(dir), redirectAttacks...) }, `
		ls
		ls -la d | cat
		cat a.txt && echo 'done; $(ls)'
		git status`},
	{"allow list with edits", allowRules(
		"* | * | allow", "bash | * | ask", "external_directory | * | deny", "read | *.env | deny",
		"bash | ls * | allow", "bash | echo * | allow", "bash | cat * | allow", "bash | git status* | allow",
		"bash | git diff* | allow", "bash | make * | allow", "bash | rm * | deny", "bash | touch * | deny",
	), runAttacks, `
		echo a > out
		git diff 2>&1
		cd d && cat *.txt`},
	{"denied file", allowRules("* | * | allow", "read | *.env | deny"), readAttacks, `
		cat a.txt | sort
		cp a.txt out
		env cat a.txt
		sh -c 'cat a.txt; ls d'
		sed -n 1,2p a.txt
		cd d; cat ../a.txt
		find . -name '*.txt'
		tar cf o.tar a.txt
		make all`},
	{"protected file", allowRules("* | * | allow", "bash | * | ask", "bash | ?* | allow"), writeAttacks, `
		cp a.txt out
		uniq a.txt out
		echo a > d/out
		mkdir -p x/y && cp a.txt x/y
		cat /proc/self/status
		git log -1 || true`},
	// * allows what cannot be read too: there only the sandbox protects files.
	{"protected file where all is allowed", allowRules("* | * | allow"), func(dir string) []string {
		return slices.DeleteFunc(writeAttacks(dir), func(command string) bool { return !isPlain(command) })
	}, `
		sed -i 's/a/b/' a.txt
		awk '{print $1}' /proc/meminfo
		env -C d cp b.txt out
		cd "$HOME" && pwd > /dev/null
		for i in a b; do echo $i; done > out
		git add a.txt
		make all > d/log 2>&1`},
	{"outside", allowRules("* | * | allow", "external_directory | * | deny"), outsideAttacks, `
		cat a.txt /dev/null
		cp a.txt d/x
		mkdir -p x/y/z
		sed 's/a/b/' a.txt
		sh -c 'cat a.txt'
		awk 1 a.txt
		curl -s http://127.0.0.1:1/var/x || true`},
}

// No attack has the effect that the rules of its class forbid. Those that are allowed run.
func TestAttacks(t *testing.T) {
	if _, err := osexec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	total := 0
	for _, class := range attackClasses {
		t.Run(class.name, func(t *testing.T) {
			a, begun, ran, broken := newAttacked(t), time.Now(), 0, 0
			attacks := slices.Sorted(maps.Keys(collect(class.attacks(a.Dir))))
			total += len(attacks)
			for _, command := range attacks {
				wasRun, harm := a.attack(class.rules, command)
				if wasRun {
					ran++
				}
				if harm != "" && !slices.Contains(beyondWords, command) {
					broken++
					t.Errorf("%q %s", strings.ReplaceAll(command, a.Dir, "DIR"), harm)
				}
			}
			for _, command := range tableLines(class.allowed) {
				if wasRun, harm := a.attack(class.rules, command); !wasRun || harm != "" {
					t.Errorf("%q, which is no attack: ran %t %s", command, wasRun, harm)
				}
			}
			t.Logf(
				"%d attacks, %d ran, %d succeeded, %v",
				len(attacks),
				ran,
				broken,
				time.Since(begun).Round(time.Millisecond),
			)
		})
	}
	if total < 1000 {
		t.Errorf("%d attacks: this proves little", total)
	}
}

// beyondWords are commands that reach files whose names are not in their words. Rules for paths do not hold them; the
// sandbox does.
var beyondWords = []string{
	"git add -A -f; git diff --cached",
}

func collect(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}
