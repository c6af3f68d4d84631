package permission_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/shell"
)

// A script of sed or awk that only transforms its input is found; one that may open or run something is not.
func TestFindFilterScripts(t *testing.T) {
	for command := range strings.Lines(`
sed -n '$p' a
sed -n '$!p' a
sed '' a
sed 's/.*//' a
sed -E 's/^([a-z]+)=.*$/\1/g; s,/usr,,; /^#/d' a
sed -e 's|a|b|' -e '1,5p' a
sed -ne '/^a/,/^b/{p;d}' a
sed -i 's/a/b/' a
sed -i.bak -e '1d' a
sed ':a;N;$!ba;s/\n/ /g' a
sed 's/[a-z]*/x/;2q' a
sed -n 5p a
sed '/a/{s/b/c/;n}' a
awk '{print $1}' a
awk -F: '{print $NF}' a
awk -F , -v n=3 'NR > 1 && $3 > n || $1 ~ /x/ {s += $2} END {print s}' a
awk '$1 < 5' a
`) {
		if line, found := findScripts(t, command); line != "" && len(found) == 0 {
			t.Errorf("%s: no script", line)
		}
	}
	for command := range strings.Lines(`
sed 'r.env' a
sed '$r .env' a
sed 'w x' a
sed 's/a/b/w x' a
sed 's/a/b/;w x' a
sed 's/a/cat .env/e' a
sed '1e cat .env' a
sed 'e' a
sed '/a/R .env' a
sed 's/[/]/w x/;w y/' a
sed 's/a\/b/w x' a
sed -f p a
sed --file=p a
sed -n 's/é/b/' a
sed -e p -f q a
sed --expression=p d
sed -s --posix 'y/a/b/' a
sed "$x" a
sed $x p
sed -n 'a\' a
sed 's/a/b/ #;w x' a
sed '$!{w x' a
sed '\,a,w x' a
awk -f p a
awk '{while ((getline l < ".env") > 0) print l}' a
awk '{print > "x"}' a
awk '{print $1 >> "x"}' a
awk '{print | "sh"}' a
awk 'BEGIN {system("x")}' a
awk 'BEGIN {ARGV[1] = ".e" "nv"; ARGC = 2} {print $1}'
awk '@load "x"; {print $1}' a
awk -i inplace '{print $1}' a
awk -E x '{print $1}' a
awk "$x" a
awk d a
perl -ne 'print' a
find . -exec sed -n p {} +
`) {
		if line, found := findScripts(t, command); len(found) != 0 {
			t.Errorf("%s: words %v are scripts", line, found)
		}
	}
}

func findScripts(t *testing.T, command string) (string, map[int]bool) {
	t.Helper()
	if command = strings.TrimSpace(command); command == "" {
		return "", nil
	}
	line, err := shell.Parse(command)
	if err != nil {
		t.Errorf("%s: %v", command, err)
		return "", nil
	}
	return command, permission.FindFilterScripts(line.Commands[0])
}

// A rule that denies some commands does not ask for scripts of sed and awk that run nothing.
func TestFilterScriptsRunNothing(t *testing.T) {
	layers := []permission.Layer{layer("user", "bash | * | allow", "bash | rm * | deny")}
	for command, want := range map[string]session.Effect{
		"sed -n '$p' a":              session.Allow,
		"awk '{print $1}' a":         session.Allow,
		"sed -i 's/(a)/b/' a && ls":  session.Allow,
		"sed '1e rm x' a":            session.Deny,
		"awk '{system($1)}' a":       session.Ask,
		"sed -n '$p' a; rm a":        session.Deny,
		"sed -f script a":            session.Ask,
		"env -C . sed -n '$p' a":     session.Ask,
		"awk -i inplace '{print}' a": session.Ask,
	} {
		if d := permission.Evaluate(layers, nil, "bash", command); d.Effect != want {
			t.Errorf("%s is %s by %+v, want %s", command, d.Effect, d, want)
		}
	}
}

// What is taken for a script without effects is one for GNU sed as well, whose option --sandbox refuses the commands
// that read, write and run.
func TestSedAgrees(t *testing.T) {
	if out, err := exec.Command("sed", "--sandbox", "-n", "p", "/dev/null").CombinedOutput(); err != nil {
		t.Skipf("no GNU sed here: %s", out)
	}
	n := 200
	if os.Getenv("CAIRN_SOAK") != "" {
		n = 20_000
	}
	parts := strings.Fields("s y / , | # a e W R p d $ ! 1 0~3 { } ; \\ [ ] ^ * g I :a ba t q i c \\n & ( " +
		"s/a/b/ /a/ s/[/]/e/ M m ~ +2 = F z v \\/")
	parts = append(parts, "w x", "r x", "\n", " ", "s,x,y,w x", "}w x")
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for found := 0; found < n; {
		script := ""
		for range 1 + random.IntN(9) {
			script += parts[random.IntN(len(parts))]
		}
		words := []shell.Word{{Text: "sed", Literal: true}, {Text: script, Literal: true}}
		if permission.FindFilterScripts(shell.Command{Words: words}) == nil {
			continue
		}
		found++
		out, _ := exec.Command("sed", "--sandbox", "-n", "--", script, "/dev/null").CombinedOutput()
		if strings.Contains(string(out), "sandbox mode") {
			t.Errorf("%q: %s", script, out)
		}
	}
}
