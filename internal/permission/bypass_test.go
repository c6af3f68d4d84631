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

// No attempt to bypass the rules is allowed. Those marked ! are denied even if everything else is allowed; those marked
// Options and subcommands that run other programs ask, also where a pattern allows the program.
func TestRunningOptionsAsk(t *testing.T) {
	for _, text := range []string{
		"npm version patch", "npm audit fix", "npm help x", "npm ls --script-shell=./x", "git grep -nOsh hi", "wait -np 'a'",
		"fd -Hx cmd", "fd -IX cmd", "install -s a b", "install --strip-program=./x a b", "gh repo clone a/b", "cloc --vcs=x",
		"hg status", "kubectl get pods --kubeconfig=./k.yaml", "go env -w X=Y",
		"git pull -s d/x origin main", "git pull --rebase -sd/x", "git pull -vs d/x", "git rebase -s d/x main",
		"git rebase -x ls main", "git rebase -qi main", "git rebase --inter main", "git -C d rebase --exec ls main",
		"git -C $X status", "git --no-pager -c core.pager=x log", "git -C d --git-dir=x log", "git -C d",
		"git --no-pager", "git push --repo=evil", "git push --rep evil main",
	} {
		name, _, _ := strings.Cut(text, " ")
		layers := []permission.Layer{layer("user", "* | * | allow", "bash | * | ask", "bash | "+name+" * | allow")}
		if d := permission.Evaluate(layers, nil, "bash", text); d.Effect != session.Ask {
			t.Errorf("%s is %s by %+v", text, d.Effect, d.Rule)
		}
	}
}

// Options that change where git runs and how it shows its output are not what rules are about.
func TestGitOptionsBeforeTheCommand(t *testing.T) {
	layers := []permission.Layer{layer("user", "bash | * | ask", "bash | git log * | allow", "bash | git status | allow",
		"bash | git rebase * | allow", "bash | git push * | deny", "bash | git -C s diff * | allow")}
	for text, want := range map[string]session.Effect{
		"git --no-pager log": session.Allow, "git -P log -3": session.Allow, "git -C d status": session.Allow,
		"git -C d -C e --no-pager log": session.Allow, "git rebase main": session.Allow,
		"git rebase --continue": session.Allow,
		"git -C s diff":         session.Allow, "git -C d diff": session.Ask, "git --no-pager show": session.Ask,
		"git -C d push": session.Deny, "git --no-pager push x": session.Deny, "git -C push status": session.Allow,
	} {
		if d := permission.Evaluate(layers, nil, "bash", text); d.Effect != want {
			t.Errorf("%s is %s by %+v, want %s", text, d.Effect, d.Rule, want)
		}
	}
}

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
		if d := permission.Evaluate(lenient, everything, "bash", text); a.mark != "-" &&
			d.Effect == session.Allow {
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
		"ls -la src", "cat README.md | grep -n foo", "cat $FILE_THAT_IS_NOT_FORBIDDEN", `grep -rn "func main" .`,
		"find . -name '*.go'", "echo hello; ls", "LC_ALL=C ls", "cd src && ls", "cd; ls", "ls 2>&1", "git diff -- a.go",
		"ls # and a comment", "# what follows\nls", "ls &", "true && ls", "git log | sort | head -3", "set -euo pipefail; ls",
		"go test ./... 2>&1 | head -20", "go test -run 'TestA|TestB' ./...", "ls *.go", "cat ~/notes", "echo 'a $(b) `c`'",
		"git diff HEAD~1 -- 'a b.go'", "npm test", "grep -E \"a|b\" x.go", "git log \\\n  --oneline",
	} {
		if d := permission.Evaluate(realistic, nil, "bash", text); d.Effect != session.Allow {
			t.Errorf("%s: %s by %q, rule %+v", text, d.Effect, d.Resource, d.Rule)
		}
	}
}

// What people do all day and no pattern allows: it is not readable, or runs other programs or code of the repository.
// It asks and says why; an approval of the exact text allows it.
func TestEverydayCommandsThatAsk(t *testing.T) {
	for text, reason := range map[string]string{
		"for f in a b; do cat $f; done": "keyword for", "if [ -f go.mod ]; then go test ./...; fi": "keyword if",
		"timeout 60 go test ./...": "runs timeout", "env LANG=C ls": "runs env",
		"find . -name x | xargs grep foo": "runs xargs",
		"sed -n '1,20p' a.go":             "runs sed", "sed 's/a/b/g' a.go": "runs sed", "awk '{print $1}' a": "runs awk",
		"(cd a; ls)": "parenthesis", "bash -c 'ls; git status'": "runs bash", "find . -type f -exec cat {} +": "runs find",
		"echo \"$(git status)\"": "command substitution", "n=1; ls": "assignment of n", "time ls": "keyword time",
		"! ls": "keyword !", "echo a\\\nb": "backslash", "{ ls; git status; }": "brace", "tar tf a.tar": "runs tar",
		"git -c core.pager=cat log": "runs git", "git -C $A status": "runs git", "git lg": "runs git",
		"cat <<E\na\nE": "here-document", "./build.sh": "of a path", "npm test -- -u": "runs npm", "ls ${X}": "expansion",
		"git cherry-pick --strategy=d/x HEAD~1": "option", "git revert --strategy d/x HEAD": "option",
		"git pull ./evil main": "hooks", "git fetch ../evil": "hooks",
		"choom -n 0 ls": "runs choom", "jobs -x ls": "runs jobs", "x86_64 ls": "runs x86_64",
		"sg root ls": "runs sg", "capsh -- -c ls": "runs capsh", "jq -n 'import \"c\" as $d {search:\"/o\"}; $d'": "jq",
		"git diff $X": "runs git", "ls [ab]": "pattern with [",
	} {
		d := permission.Evaluate(realistic, nil, "bash", text)
		if d.Effect != session.Ask || !strings.Contains(d.Reason, reason) {
			t.Errorf("%s: %s because %q, want an ask because of %q", text, d.Effect, d.Reason, reason)
		}
		whole := strings.NewReplacer("find . -name x | ", "", "; ls", "").Replace(text)
		if strings.HasPrefix(text, "n=1") || strings.HasPrefix(text, "(") {
			whole = text
		}
		approval := []session.Rule{{Action: "bash", Resource: permission.Escape(whole), Effect: session.Allow}}
		if d := permission.Evaluate(realistic, approval, "bash", text); d.Effect != session.Allow {
			t.Errorf("%s: %s by %+v with an approval of the exact text", text, d.Effect, d)
		}
		everything := []permission.Layer{layer("user", "* | * | allow")}
		if d := permission.Evaluate(everything, nil, "bash", text); d.Effect != session.Allow {
			t.Errorf("%s: %s by %+v where everything is allowed", text, d.Effect, d)
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
		{[]string{"bash | ?* | allow"}, "~/x a", session.Ask}, // whose program is not known
		{[]string{"bash | ?* | allow"}, "l? a", session.Ask},
		{[]string{"bash | ?* | allow"}, "* a", session.Ask},
		{[]string{"bash | * | allow", "bash | rm * | deny"}, "$X", session.Ask},
		{[]string{"bash | * | allow", "bash | rm * | deny"}, "ls $X", session.Allow},
		{[]string{"bash | yarn * | allow"}, "yarn $X", session.Ask}, // which runs scripts of the repository
		{[]string{"bash | npm * | allow"}, "npm $X", session.Ask},   // which may be --script-shell
		{[]string{"bash | git * | allow"}, "git $X", session.Ask},   // which may be -c with a command
		{[]string{"bash | git * | allow", "bash | git push * | deny"}, "git $X", session.Ask},
		{[]string{"bash | git * | allow", "bash | git push | deny"}, "git $X", session.Ask},
		{[]string{"bash | git * | allow", "bash | git push * | ask"}, "git $X", session.Ask},
		{[]string{"bash | git status | allow"}, "git $X", session.Ask},
		{[]string{"bash | yarn publish * | deny", "bash | ls * | allow"}, "ls $X", session.Allow},
		{[]string{"bash | * | allow", "bash | cat *.env | deny"}, "f=.env && cat $f", session.Ask},
		{[]string{"bash | * | allow", "bash | cat *.env | deny"}, "read f && cat $f", session.Ask},
		{[]string{"bash | * | allow", "bash | ls | allow"}, "ls $(x)", session.Allow},
		{[]string{"bash | * | ask", "bash | * $X | allow"}, "ls $X", session.Ask},
		{[]string{"bash | * | allow", "bash | cat *.env | deny"}, "cat .e*", session.Ask},
		{[]string{"bash | * | allow", "bash | cat *.env | deny"}, "cat '.e*'", session.Allow},
		{[]string{"bash | * | allow", "bash | rm ? | deny"}, "rm $X", session.Ask},
		{[]string{"bash | rm ? | allow"}, "rm $X", session.Ask},
		{[]string{"bash | git commit * | allow"}, `git commit -m "$MESSAGE"`, session.Ask},
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
