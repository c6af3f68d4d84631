package permission_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/shell"
	"github.com/cairn-dev/cairn/internal/session"
)

//go:embed testdata/bypass.txt
var bypass string

// realistic is a typical set of rules: reading and one build are allowed, removing and publishing are forbidden, the
// rest asks.
var realistic = []permission.Layer{
	layer("defaults", "* | * | allow", "bash | * | ask"),
	layer(
		"user",
		"bash | git status* | allow",
		"bash | git diff* | allow",
		"bash | git log* | allow",
		"bash | ls* | allow",
		"bash | cat * | allow",
		"bash | grep * | allow",
		"bash | find * | allow",
		"bash | echo * | allow",
		"bash | npm test | allow",
		"bash | go test * | allow",
		"bash | env * | allow",
		"bash | xargs * | allow",
		"bash | timeout * | allow",
		"bash | sudo * | allow",
		"bash | sh * | allow",
		"bash | bash * | allow",
		"bash | head * | allow",
		"bash | sed * | allow",
		"bash | awk * | allow",
		"bash | sort * | allow",
		"bash | tar * | allow",
		"bash | git -c * | allow",
		"bash | rm * | deny",
		"bash | git push* | deny",
		"bash | curl * | deny",
	),
}

// lenient is the other way that people write: all is allowed but for what they fear.
var lenient = []permission.Layer{
	layer(
		"user", "* | * | allow", "bash | rm * | deny", "bash | git push* | deny", "bash | curl * | deny",
		"bash | reboot | deny",
	),
}

// No pattern allows a line that is not plain, whatever it hides. Of the lines marked ! the rules that deny find the
// command; of the others they do not, and only the sandbox holds them.
func TestBypass(t *testing.T) {
	found := 0
	for _, a := range attempts(t) {
		text := strings.NewReplacer("⏎", "\n", "⇥", "\t", "␍", "\r").Replace(a.text)
		_, err := shell.Parse(text)
		if d := permission.Evaluate(realistic, nil, "bash", text); err != nil && d.Effect == session.Allow {
			t.Errorf("%s is allowed by %+v", a.text, d)
		}
		if err != nil {
			saved := rules("bash | ls * | allow", "bash | ?* | allow")
			if d := permission.Evaluate(realistic, saved, "bash", text); d.Effect == session.Allow {
				t.Errorf("%s is allowed by an approval: %+v", a.text, d)
			}
		}
		d := permission.Evaluate(lenient, rules("bash | * | allow"), "bash", text)
		if (a.mark == "!") != (d.Effect == session.Deny) {
			t.Errorf("%s is %s by %+v where all but a few things are allowed", a.text, d.Effect, d)
		}
		if a.mark == "!" {
			found++
		}
	}
	if found < 150 {
		t.Fatalf("only %d attempts are found by a rule that denies", found)
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
		if !ok || !strings.Contains("!-", mark) {
			t.Fatalf("no mark: %q", l)
		}
		out = append(out, attempt{mark, text})
	}
	return out
}

// An unquoted expansion may become options, files and commands, so no pattern applies.
func TestExpansionsAsk(t *testing.T) {
	all := []permission.Layer{layer("user", "bash | * | ask", "bash | find * | allow", "bash | git * | allow",
		"bash | sort * | allow", "bash | split * | allow", "bash | test * | allow", "bash | cat * | allow",
		"bash | : * | allow", "bash | cp * | allow")}
	for _, text := range []string{
		": '/ -exec touch PWNED ;'; find .$_", `find .$IFS-exec touch PWNED \;`, "git rebase HEAD~1$IFS--exec=./evil.sh",
		": 'AD --output=PWNED'; git log HE$_", "git log HEAD$IFS--output=F", "sort a.txt$IFS-oF",
		": '.txt --filter=./evil.sh'; split a$_", ": 'x -a -v a[$(touch${IFS}PWNED)]'; test y$_",
		"cat a.txt$IFS/abs/secret", "cp hook$IFS.git/hooks/pre-commit", `git log "$X"`, "git diff -*", "cat ~/x", "cat {a,b}",
		"A=1 git log", "git log &", "cat <(ls)", "cat <<E\na\nE",
	} {
		if d := permission.Evaluate(all, nil, "bash", text); d.Effect != session.Ask || d.Reason == "" {
			t.Errorf("%s is %s by %+v", text, d.Effect, d.Rule)
		}
		exact := rules("bash | " + permission.Escape(text) + " | allow")
		if d := permission.Evaluate(all, exact, "bash", text); d.Effect != session.Allow {
			t.Errorf("%s is %s with an approval of its text", text, d.Effect)
		}
	}
}

// A pattern applies to every command of a plain line that it matches, whatever the program.
func TestPatterns(t *testing.T) {
	for text, want := range map[string]session.Effect{
		"git status": session.Allow, "git  status": session.Allow, "git status && git diff": session.Allow,
		"git log --oneline | head -5": session.Allow, "cat README.md | grep -n foo": session.Allow,
		`grep -rn "func main" .`: session.Allow, "cd src && ls": session.Allow, "ls 2>&1 >/dev/null": session.Allow,
		"ls # and a comment": session.Allow, "# what follows\nls": session.Allow, "env X=1 sh -c 'a; b'": session.Allow,
		"set -euo pipefail; ls": session.Allow, "echo 'a $(b) `c`'": session.Allow, "ls src/*.go": session.Allow,
		"git log \\\n  --oneline": session.Allow, "find . -name '*.go' -exec rm {} +": session.Allow,
		"git -C d status": session.Allow, "git --no-pager -C d log -3": session.Allow,
		"ls; whoami": session.Ask, "git stash": session.Ask, "git -c a.b=c log": session.Allow,
		"git -C d --git-dir=x log": session.Ask, "/bin/ls -l": session.Ask, "ls $(a)": session.Ask,
		"git -C d push": session.Deny, "/usr/bin/git push": session.Deny, "ls && rm x": session.Deny,
		"RM x": session.Deny, "echo $(rm x)": session.Deny, "for f in a b; do rm $f; done": session.Deny,
	} {
		if d := permission.Evaluate(realistic, nil, "bash", text); d.Effect != want {
			t.Errorf("%s: %s by %q, rule %+v", text, d.Effect, d.Resource, d.Rule)
		}
	}
}

// A rule with the exact text of a line allows all its commands.
func TestExactLines(t *testing.T) {
	asks := []permission.Layer{layer("user", "bash | * | ask", "bash | make && ./x | allow")}
	for _, s := range []permission.Subject{
		{Action: "bash", Resources: []string{"make && ./x"}},
		{Action: "bash", Resources: []string{"make", "./x"}, Command: permission.CommandContext{Line: " make && ./x\n"}},
	} {
		if d := permission.EvaluateAll(asks, nil, s); d.Effect != session.Allow {
			t.Errorf("%+v: %+v", s, d)
		}
	}
	if d := permission.Evaluate(asks, nil, "bash", "make && ./x && ./y"); d.Effect != session.Ask {
		t.Error(d)
	}
}

// Where no sandbox confines commands, saved approvals and the rules of a project cover what only reads, and exact
// texts.
func TestWithoutASandbox(t *testing.T) {
	pattern := func(name, p string) []permission.Layer {
		return []permission.Layer{layer("defaults", "bash | * | ask"), layer(name, "bash | "+p+" | allow")}
	}
	for _, c := range []struct {
		pattern, text string
		saved, own    bool // allowed by an approval or a project's rule, by the user's own rule
	}{
		{"git log *", "git log -3 --oneline", true, true},
		{"git log *", "git log --output=x", false, true},
		{"git log *", "git log > x", false, true},
		{"git log *", "git log 2>/dev/null < x", true, true},
		{"go test *", "go test ./...", false, true},
		{"*", "ls", true, true},
		{"*", "make", false, true},
		{"make", "make", true, true},
		{"find *", "find . -name x", true, true},
		{"find *", "find . -delete", false, true},
		{"rg *", "rg --pre=./x a", false, true},
	} {
		s := permission.Subject{
			Action: "bash", Resources: []string{c.text}, Command: permission.CommandContext{Unconfined: true, Line: c.text},
		}
		approval := rules("bash | " + c.pattern + " | allow")
		for name, got := range map[string]permission.Decision{
			"approval": permission.EvaluateAll(pattern("x", "nothing"), approval, s),
			"project":  permission.EvaluateAll(pattern("project", c.pattern), nil, s),
		} {
			if (got.Effect == session.Allow) != c.saved {
				t.Errorf("%s %q: %q is %s", name, c.pattern, c.text, got.Effect)
			}
		}
		if d := permission.EvaluateAll(pattern("user", c.pattern), nil, s); (d.Effect == session.Allow) != c.own {
			t.Errorf("user %q: %q is %s", c.pattern, c.text, d.Effect)
		}
	}
}

// Inside of the sandbox the built-in asks about files do not count; rules of the user and protected names do.
func TestConfinedEdits(t *testing.T) {
	builtIn := layer("defaults", "* | * | allow", "edit | * | ask")
	builtIn.Source = permission.BuiltIn
	own := layer("user", "edit | secret/* | deny", "edit | b | ask")
	for path, want := range map[string]session.Effect{
		"a": session.Allow, "b": session.Ask, "secret/x": session.Deny, ".envrc": session.Ask,
	} {
		s := permission.Subject{Action: "edit", Resources: []string{path}}
		s.Command.Confined = true
		if d := permission.EvaluateAll([]permission.Layer{builtIn, own}, nil, s); d.Effect != want {
			t.Errorf("%s: %+v", path, d)
		}
	}
}

// A rule for every action does not allow addresses of this machine; one that spells the action does.
func TestLocalFetch(t *testing.T) {
	defaults := layer("defaults", "* | * | allow", "webfetch_local | * | ask")
	for rule, want := range map[string]session.Effect{
		"* | * | allow": session.Ask, "webfetch* | * | allow": session.Ask, "webfetch_local | * | allow": session.Allow,
		"webfetch_local | 10.* | allow": session.Allow, "* | * | deny": session.Deny,
	} {
		layers := []permission.Layer{defaults, layer("user", rule)}
		if d := permission.Evaluate(layers, nil, permission.LocalFetch, "10.0.0.1"); d.Effect != want {
			t.Errorf("%s: %+v", rule, d)
		}
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
}
