package permission_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

//go:embed testdata/bypass.txt
var bypass string

// realistic is what people write: reading and one build are allowed, removing and publishing are forbidden, the rest
// asks.
var realistic = []permission.Layer{
	layer("defaults", "* | * | allow", "bash | * | ask"),
	layer(
		"user", "bash | git status* | allow", "bash | git diff* | allow", "bash | git log* | allow", "bash | ls* | allow",
		"bash | cat * | allow",
		"bash | grep * | allow", "bash | find * | allow", "bash | echo * | allow", "bash | npm test | allow",
		"bash | go test * | allow",
		"bash | env * | allow", "bash | xargs * | allow", "bash | timeout * | allow", "bash | sudo * | allow",
		"bash | sh * | allow", "bash | bash * | allow",
		"bash | head * | allow", "bash | sed * | allow", "bash | awk * | allow", "bash | sort * | allow",
		"bash | tar * | allow", "bash | git -c * | allow",
		"bash | rm * | deny", "bash | git push* | deny", "bash | curl * | deny",
	),
}

// lenient is the other way that people write: all is allowed but for what they fear.
var lenient = []permission.Layer{
	layer(
		"user", "* | * | allow", "bash | rm * | deny", "bash | git push* | deny", "bash | curl * | deny",
		"bash | reboot | deny",
	),
}

// No attempt to bypass the rules is allowed. Those marked ! are denied even if everything else is allowed; those marked
// ~ at least ask then; the others run a program that the second rules allow.
func TestBypass(t *testing.T) {
	attempts := attempts(t)
	if len(attempts) < 150 {
		t.Fatalf("%d attempts", len(attempts))
	}
	for _, a := range attempts {
		text := strings.NewReplacer("⏎", "\n", "⇥", "\t", "␍", "\r").Replace(a.text)
		if d := permission.Evaluate(realistic, nil, "bash", text); d.Effect == session.Allow {
			t.Errorf("%s is allowed by %+v", a.text, d)
		}
		d := permission.Evaluate(lenient, nil, "bash", text)
		switch {
		case a.mark == "!" && d.Effect != session.Deny, a.mark == "~" && d.Effect == session.Allow:
			t.Errorf("%s is %s by %+v where all but a few things are allowed", a.text, d.Effect, d)
		}
		everything := rules("bash | * | allow", "bash | ls * | allow")
		if d := permission.Evaluate(lenient, everything, "bash", text); a.mark != "-" && d.Effect == session.Allow {
			t.Errorf("%s is allowed by a saved approval: %+v", a.text, d)
		}
	}
}

type attempt struct{ mark, text string }

func attempts(t *testing.T) (out []attempt) {
	t.Helper()
	for _, l := range strings.Split(bypass, "\n") {
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		mark, text, ok := strings.Cut(l, " ")
		if !ok || !strings.Contains("!~-", mark) {
			t.Fatalf("no mark: %q", l)
		}
		out = append(out, attempt{mark, text})
	}
	return out
}

// What people do all day is allowed under rules that say so.
func TestEverydayCommands(t *testing.T) {
	for _, text := range []string{
		"git status", "git status --short", "git  status", "git status && git diff", "git log --oneline | head -5", "ls",
		"ls -la src",
		"cat README.md | grep -n foo", "cat $FILE_THAT_IS_NOT_FORBIDDEN", `grep -rn "func main" .`, "find . -name '*.go'",
		"echo hello; ls", "LC_ALL=C ls",
		"for f in a b; do cat $f; done", "if [ -f go.mod ]; then go test ./...; fi", "cd src && ls",
		"timeout 60 go test ./...", "ls 2>&1", "git diff -- a.go",
		"env LANG=C ls", "find . -name x | xargs grep foo", "sed -n '1,20p' a.go", "sed 's/a/b/g' a.go", "awk '{print $1}' a",
		"(cd a; ls)", "npm test",
		"bash -c 'ls; git status'", "find . -type f -exec cat {} +", "echo \"$(git status)\"", "n=1; ls",
		"ls # and a comment", "time ls", "! ls", "ls &",
		"echo a\\\nb", "{ ls; git status; }", "true && ls", "git log | sort | head -3", "tar tf a.tar",
	} {
		if d := permission.Evaluate(realistic, nil, "bash", text); d.Effect != session.Allow {
			t.Errorf("%s: %s by %q, rule %+v", text, d.Effect, d.Resource, d.Rule)
		}
	}
}

// Where all is allowed but a few things, what people do all day is allowed too, although it runs other programs.
func TestEverydayCommandsUnderFewDenies(t *testing.T) {
	for _, text := range []string{
		"command -v go", "npm run build", "npm ci", "uv run pytest -q", "npx eslint .", "bundle exec rspec",
		"git config user.name x",
		"git config --get remote.origin.url", "git config user.email", "make test", "make -j4 -f Makefile",
		"set -euo pipefail; go vet ./...", "ls & wait",
		"cargo build --release", "gcc -O2 -o a a.c", "go env GOPATH", "source .venv/bin/activate", "bash build.sh",
		"mapfile -t a < f",
		"git fetch origin main", "git cat-file -p HEAD", "tar czf a.tgz b", "npm config get registry",
	} {
		if d := permission.Evaluate(lenient, nil, "bash", text); d.Effect != session.Allow {
			t.Errorf("%s: %s by %q, rule %+v", text, d.Effect, d.Resource, d.Rule)
		}
	}
}

// A hole may become anything, and nothing more than that.
func TestHoles(t *testing.T) {
	for _, c := range []struct {
		rules []string
		text  string
		want  session.Effect
	}{
		{[]string{"bash | * | allow"}, "$X", session.Allow},
		{[]string{"bash | * | allow", "bash | rm * | deny"}, "$X", session.Ask},
		{[]string{"bash | * | allow", "bash | rm * | deny"}, "ls $X", session.Allow},
		{[]string{"bash | yarn * | allow"}, "yarn $X", session.Allow},
		{[]string{"bash | npm * | allow"}, "npm $X", session.Ask}, // which may be --script-shell
		{[]string{"bash | git * | allow"}, "git $X", session.Ask}, // which may be -c with a command
		{[]string{"bash | git * | allow", "bash | git push * | deny"}, "git $X", session.Ask},
		{[]string{"bash | git * | allow", "bash | git push | deny"}, "git $X", session.Ask},
		{[]string{"bash | git * | allow", "bash | git push * | ask"}, "git $X", session.Ask},
		{[]string{"bash | git status | allow"}, "git $X", session.Ask},
		{[]string{"bash | yarn publish * | deny", "bash | yarn * | allow"}, "yarn $X", session.Allow},
		{[]string{"bash | * | allow", "bash | cat *.env | deny"}, "f=.env && cat $f", session.Deny},
		{[]string{"bash | * | allow", "bash | cat *.env | deny"}, "read f && cat $f", session.Ask},
		{[]string{"bash | * | allow", "bash | cat *.env | deny"}, "cat .e*", session.Ask},
		{[]string{"bash | * | allow", "bash | cat *.env | deny"}, "cat '.e*'", session.Allow},
		{[]string{"bash | * | allow", "bash | rm ? | deny"}, "rm $X", session.Ask},
		{[]string{"bash | rm ? | allow"}, "rm $X", session.Ask},
		{[]string{"bash | git commit * | allow"}, `git commit -m "$MESSAGE"`, session.Allow},
		{[]string{"bash | * | ask", "bash | /bin/ls * | allow"}, "/bin/ls -l", session.Allow},
		{[]string{"bash | ls * | allow"}, "/bin/ls -l", session.Ask},
		{[]string{"bash | * | allow", "bash | yarn * | deny"}, "yarn test", session.Deny},
		{[]string{"bash | * | deny"}, "echo a", session.Deny},
		{[]string{"bash | * | deny", "bash | echo * | allow"}, "echo a | sh", session.Deny},
	} {
		if d := permission.Evaluate([]permission.Layer{layer("user", c.rules...)}, nil, "bash", c.text); d.Effect != c.want {
			t.Errorf("%v: %s is %s, want %s (%+v)", c.rules, c.text, d.Effect, c.want, d)
		}
	}
}

// What a command may turn out to be is not allowed by a ceiling that denies that, nor by an approval.
func TestPossibleDenials(t *testing.T) {
	all := layer("user", "bash | * | allow")
	for _, denies := range []permission.Layer{
		ceiling("agent", "bash | rm * | deny"), strict("project", "bash | rm * | deny"), layer("user", "bash | rm * | deny"),
	} {
		d := permission.Evaluate([]permission.Layer{all, denies}, rules("bash | * | allow"), "bash", "$X -rf y")
		if d.Effect != session.Ask || !d.Possible || d.Layer != denies.Name {
			t.Errorf("%+v", d)
		}
	}
	asks := strict("project", "bash | rm * | ask")
	if d := permission.Evaluate([]permission.Layer{all, asks}, nil, "bash", "$X -rf y"); d.Effect != session.Ask ||
		!d.Possible {
		t.Errorf("%+v", d)
	}
	if d := permission.Evaluate(
		[]permission.Layer{all, asks}, rules("bash | * | allow"), "bash", "$X -rf y",
	); d.Effect != session.Allow {
		t.Errorf("an approval does not lift an ask: %+v", d)
	}
}

// What is denied is denied behind any number of other commands.
func TestDenyBehindMany(t *testing.T) {
	for _, n := range []int{50, 299, 1000, 4000} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "ls %d; ", i)
		}
		if d := permission.Evaluate(lenient, nil, "bash", b.String()+"rm x"); d.Effect != session.Deny {
			t.Errorf("behind %d commands it is %s by %+v", n, d.Effect, d)
		}
		if d := permission.Evaluate(realistic, nil, "bash", b.String()+"rm x"); d.Effect != session.Deny {
			t.Errorf("behind %d commands it is %s by %+v", n, d.Effect, d)
		}
	}
	many := "rm x" + strings.Repeat("; ls a{,$RANDOM}", 5_000)
	if d := permission.Evaluate(lenient, nil, "bash", many); d.Effect != session.Deny {
		t.Errorf("before many commands it is %s by %+v", d.Effect, d)
	}
}
