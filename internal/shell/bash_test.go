package shell_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/shell"
)

// Whatever bash runs was told before. Scripts are put together at random from everything that runs a command, and run
// by bash with a PATH of programs that only write down their names.
func TestEverythingThatRunsIsTold(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	ran := 0
	for seed := range uint64(300) {
		path, log := stubs(t)
		g := &generator{rand.New(rand.NewPCG(seed, 1))}
		script := g.script(3)
		cmd := exec.CommandContext(t.Context(), bash, "-c", script)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + path, "HOME=" + filepath.Dir(path)}
		_ = cmd.Run() // most scripts fail somewhere
		names, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		told, anything := tells(script)
		for _, name := range strings.Fields(string(names)) {
			ran++
			if !told[name] && !anything {
				t.Errorf("seed %d: %s ran, which is not in %q of\n%s", seed, name, shell.Parts(script), script)
			}
		}
	}
	if ran < 200 {
		t.Fatalf("only %d programs ran: this proves little", ran)
	}
	t.Logf("%d programs ran", ran)
}

// stubs makes a PATH of the programs p1 to p5, which write their names to the log and read nothing, and of the wrappers
// that are there.
func stubs(t *testing.T) (path, log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 5; i++ {
		name := fmt.Sprintf("p%d", i)
		script := "#!/bin/sh\necho " + name + " >> \"${STUB_LOG:-" + log + "}\"\necho " + name + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"env", "xargs", "find", "timeout", "nice", "nohup", "sh", "bash", "setsid", "stdbuf"} {
		if real, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(real, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return bin, log
}

// tells returns the names of all programs that the script may run, and whether it may run any.
func tells(script string) (names map[string]bool, anything bool) {
	names = map[string]bool{}
	for _, p := range shell.Parts(script) {
		for _, text := range append([]string{p.Text}, p.Readings...) {
			name := commandWord(text)
			names[name] = true
			anything = anything || text == p.Text && strings.Contains(name, shell.Hole)
		}
	}
	return names, anything
}

// commandWord is the first word that is no assignment.
func commandWord(text string) string {
	for _, w := range strings.Fields(text) {
		if !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
}

// generator puts scripts together.
type generator struct{ *rand.Rand }

func (g *generator) name() string { return fmt.Sprintf("p%d", 1+g.IntN(5)) }

// spelt is a name as somebody may write it who does not want it to be found.
func (g *generator) spelt() string {
	n := g.name()
	return []string{
		n, n, n, "'" + n + "'", `"` + n + `"`, `\` + n, "p''" + n[1:], `p"` + n[1:] + `"`, "$'\\x70'" + n[1:],
		"p\\\n" + n[1:], "$'" + n + "'",
		"${EMPTY}" + n, "$(echo " + n + ")", "{" + n + ",a}", "p[" + n[1:] + "]", "`echo " + n + "`",
	}[g.IntN(16)]
}

func (g *generator) args() string {
	return []string{
		"", " a", " 'a b'", " $X", " \"$X\"", " *", " -x", " a=b", " 2>&1", " > f", " </dev/null", " <<< a", " {a,b}",
		" # p1",
	}[g.IntN(14)]
}

func (g *generator) simple() string { return g.spelt() + g.args() + "\n" }

// quoted is the script as one word.
func (g *generator) quoted(depth int) string {
	return "'" + strings.ReplaceAll(g.script(depth), "'", `'\''`) + "'"
}

var shapes = []string{
	"%s", "%s; %s", "%s && %s", "%s || %s", "%s | %s", "%s & %s; wait", "( %s )", "{ %s\n}", "! %s", "time %s",
	"if %s then %s fi", "while %s do %s break; done",
	"until %s do break; done", "for i in 1 2; do %s done", "for ((k=0;k<1;k++)); do %s done",
	"case a in a) %s ;; b) %s;; esac", "echo $( %s )", "echo \"$( %s )\"",
	"cat < <( %s )", "echo > >( %s )", "x=$( %s )", "x=$( %s ) p1", "echo ${Y:-$( %s )}",
	"echo $((1 + $( %s ) 2>/dev/null))", "cat <<E\n$( %s )\nE\n",
	"f() { %s\n}; f", "function p1 { %s\n}; p1", "coproc { %s\n}; wait", "[[ -n $( %s ) ]] && %s", "a=(1 $( %s ))",
	"echo {a,$( %s )}", "local x=$( %s )", "export x=$( %s )",
	"eval Q", "trap Q EXIT", "bash -c Q", "sh -c Q", "sh -ec Q x y", "env bash -c Q", "env A=1 N", "env -i PATH=$PATH N",
	"env -- N", "env -S N", "nice N", "nice -n 1 N", "nohup N",
	"timeout 5 N", "timeout -k 1 5 N", "command N", "command -p N", "exec N", "builtin command N", "setsid N",
	"stdbuf -oL N", "echo a | xargs N", "echo a | xargs -I{} N {}",
	"echo a | xargs -n1 env N", "echo N | xargs -I{} {} a", "find . -maxdepth 0 -exec N {} \\;",
	"find . -maxdepth 0 -exec N {} +", "find . -maxdepth 0 -exec sh -c Q \\;", "C=N; $C a",
	"C=(N a); \"${C[@]}\"", "set -- N a; \"$@\"", "echo N | sh", "sh <<E\nN\nE\n", "echo Q | bash",
	"x='a[$( %s )]'; echo $((x))", "shopt -s expand_aliases\nalias q=Q\nq", "\\command N", "A=1 N",
	"A=1 B=2 env C=3 nice N", "command -- N", "time -p N", "N() { %s\n}\nN", "source <(echo Q)", "printf %%s Q | sh -s",
	"mapfile -C N -c 1 a <<< a", "!( %s )", "if ! %s then :; fi", "[ -n \"$( %s )\" ]",
}

// script is a random script; depth bounds how deep it nests.
func (g *generator) script(depth int) string {
	if depth == 0 {
		return g.simple()
	}
	s := shapes[g.IntN(len(shapes))]
	s = strings.ReplaceAll(s, "%%", "%")
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "%s") && !strings.HasPrefix(s, "printf"):
			b.WriteString(g.script(depth - 1))
			i++
		case s[i] == 'Q':
			b.WriteString(g.quoted(depth - 1))
		case s[i] == 'N':
			b.WriteString(g.spelt())
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String() + "\n"
}
