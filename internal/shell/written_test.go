package shell_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/shell"
)

// Whatever bash hands to a program that writes was told before, as a path or as one that may lie anywhere. Scripts are
// put together at random from everything that gives variables a value, and run by bash with a touch that writes down
// what it is given.
func TestEverythingThatIsWrittenIsTold(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	written, certain := 0, 0
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(
		filepath.Join(dir, "touch"), []byte("#!/bin/sh\nfor a; do echo \"$a\" >> "+log+"; done\n"), 0o755,
	); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(600) {
		g := &writer{rand.New(rand.NewPCG(seed, 2))}
		script := g.script()
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), bash, "-c", script, "zero", "one")
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + dir, "HOME=/home/u", "d=e"}
		_ = cmd.Run() // some scripts fail somewhere
		names, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		s := shell.ParseScript(script)
		anywhere := slices.ContainsFunc(s.Commands, func(c shell.Construct) bool { return c.Anywhere })
		for name := range strings.Lines(string(names)) {
			written++
			// a name like others is no secret
			if name = strings.TrimSuffix(name, "\n"); anywhere || !strings.ContainsAny(name, "./") {
				continue
			}
			certain++
			if !slices.ContainsFunc(s.Paths, func(p shell.Path) bool { return tellsOf(p, name, cmd.Dir) }) {
				t.Errorf("seed %d: %q was written, which is not in %+v of\n%s", seed, name, s.Paths, script)
			}
		}
	}
	if written < 400 || certain < 100 {
		t.Fatalf("only %d were written, %d of them told: this proves little", written, certain)
	}
	t.Logf("%d were written, %d of them told", written, certain)
}

// tellsOf reports that the path is the file, or a pattern for it.
func tellsOf(p shell.Path, name, dir string) bool {
	if p.Use != shell.Change {
		return false
	}
	for _, shape := range []string{p.Name, p.Shape} {
		shape = strings.Replace(strings.Replace(shape, "~+", dir, 1), "~", "/home/u", 1)
		if ok, _ := path.Match(strings.ReplaceAll(shape, shell.Hole, "*"), name); ok || shape == name {
			return true
		}
	}
	return false
}

// writer puts scripts together.
type writer struct{ *rand.Rand }

func (g *writer) name() string { return []string{"d", "e", "f"}[g.IntN(3)] }

func (g *writer) value() string {
	if g.IntN(2) == 0 {
		return []string{"a", "b/c", ".git", "$d", "$e/h", `"$f"`, "~/w"}[g.IntN(7)]
	}
	return []string{
		"a", "b/c", ".git", "'x y'", `"q r"`, "", "$d", "$e/h", `"$f"`, "${d}z", "$(echo s)", "*", "-n", "$((1+2))", "~/w",
		"$PWD", "$HOME/k", "{m,n}", "$1", "$'\\x41'", `\$d`,
		"${d:-u}", "${d/a/o}", "$d$e", "'$e'", "a=b",
	}[g.IntN(26)]
}

func (g *writer) assign() string {
	n, v := g.name(), g.value()
	if g.IntN(3) > 0 {
		return n + "=" + v
	}
	return fmt.Sprintf([]string{
		"%s=%s", "%s=%s", "%s=%s", "export %s=%s", "declare %s=%s", "readonly %s=%s", "%s+=%s", "read %s <<< %s",
		"printf -v %s %%s %s", "unset %s # %s", "%s=%s true",
		"if true; then %s=%s; fi", "false && %s=%s", "true || %s=%s", "true && %s=%s", "( %s=%s )", "{ %s=%s; }",
		"%s=%s | true", "%s=%s &", "eval '%s=%s'", "declare -n %s=%s",
		"for %s in x %s; do :; done", "g() { %s=%s; }; g", "g() { %s=%s; }", ": ${%s:=%s}", "%s=(%s)", "%s[0]=%s",
		"declare -u %s; true %s", "local %s=%s", "mapfile -t %s <<< %s",
		"case x in x) %s=%s;; esac", "while %s=%s; do break; done", "let %s=1 # %s", "((%s=1)) # %s", "trap '%s=%s' DEBUG",
		"IFS=g # %s %s", "IFS=/ # %s %s", "set -- .git # %s %s",
		"shopt -s dotglob # %s %s", "! %s=%s", "time %s=%s", "source /dev/stdin <<< '%s=%s'", "alias %s=%s",
		"%s=%s >/dev/null", "%s=%s > /nonexistent/x",
	}[g.IntN(45)], n, v)
}

func (g *writer) use() string {
	n := g.name()
	use := strings.ReplaceAll([]string{
		"touch $N", `touch "$N"`, "touch $N/y", `touch "${N}/y"`, "touch x$N", `touch "x$N.txt"`, "touch {$N,z}",
		`touch -- "$N"`, "touch \"$@\" $N", `touch "$PWD/$N"`, `touch ~/$N`,
		"touch ${N%a}", "touch 'x'\"$N\"'y'", "touch $N$N",
	}[g.IntN(14)], "N", n)
	return strings.ReplaceAll([]string{
		"USE", "USE", "USE", "( USE )", "{ USE; }", "if true; then USE; fi", "for i in 1 2; do USE; " + g.assign() + "\ndone",
		"for " + n + " in p .git; do USE; done", "h() { USE; }; h",
		"h() { USE; }; " + g.assign() + "\nh", "true && USE", n + "=t USE", "USE | true", "eval 'USE'", "sh -c 'USE'",
		"for " + n + " in *; do USE; done", "while true; do USE; break; done",
	}[g.IntN(17)], "USE", use)
}

// script is some assignments with uses among them.
func (g *writer) script() string {
	var b strings.Builder
	if g.IntN(2) == 0 { // of which all is known, more often
		b.WriteString("d=a/b; e=.git; f=$d/c\n")
	}
	for range g.IntN(4) {
		b.WriteString(g.assign() + "\n")
		if g.IntN(2) == 0 {
			b.WriteString(g.use() + "\n")
		}
	}
	return b.String() + g.use() + "\n"
}
