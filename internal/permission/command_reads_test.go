package permission_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// The unknown reads of a command are checked against the rules for read, unless a rule names the program.
func TestWhatACommandMayRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []string
		seen  permission.CommandContext
		text  string
		want  session.Effect
	}{
		{name: "a variable", rules: []string{"read | *.env | ask", "bash | * | allow"}, text: "cat $f", want: session.Ask},
		{
			name: "a rule names the program", rules: []string{"read | *.env | ask", "bash | * | allow", "bash | cat * | allow"},
			text: "cat $f", want: session.Allow,
		},
		{
			name: "with a star at its name", rules: []string{"read | *.env | deny", "bash | cat* | allow"}, text: "cat $f",
			want: session.Allow,
		},
		{
			name: "a rule for another", rules: []string{"read | *.env | ask", "bash | * | allow", "bash | c* | allow"},
			text: "cat $f", want: session.Ask,
		},
		{
			name: "the last rule counts", rules: []string{"read | *.env | ask", "bash | cat * | allow", "bash | * | allow"},
			text: "cat $f", want: session.Ask,
		},
		{
			name: "a deny that may be", rules: []string{"read | *.env | deny", "bash | * | allow"}, text: "cat $f",
			want: session.Ask,
		},
		{
			name: "a deny that is", rules: []string{"read | * | deny", "bash | cat * | allow"}, text: "cat $f",
			want: session.Deny,
		},
		{
			name: "nothing is read that asks", rules: []string{"read | * | allow", "bash | * | allow"}, text: "cat $f",
			want: session.Allow,
		},
		{
			name: "what the rest of it excludes", rules: []string{"read | *.env | deny", "bash | * | allow"},
			text: "cat $d/a.txt", want: session.Allow,
		},
		{
			name: "where it begins", rules: []string{"read | keys/* | deny", "bash | * | allow"}, text: "cat src/$f",
			want: session.Allow,
		},
		{
			name: "in another directory", rules: []string{"read | keys/* | deny", "bash | * | allow"},
			seen: permission.CommandContext{From: []string{".", "keys"}}, text: "cat src$f", want: session.Deny,
		},
		{
			name: "in a directory below", rules: []string{"read | a/keys/* | deny", "bash | * | allow"},
			seen: permission.CommandContext{From: []string{"a"}}, text: "cat k$f", want: session.Ask,
		},
		{
			name: "in an unknown one", rules: []string{"read | keys/* | deny", "bash | * | allow"},
			seen: permission.CommandContext{From: []string{".", "\x00"}}, text: "cat k$f", want: session.Ask,
		},
		{
			name: "absolute", rules: []string{"read | keys/* | deny", "bash | * | allow"}, text: "cat /work/keys/$f",
			want: session.Deny,
		},
		{
			name: "known beforehand", rules: []string{"read | *.env | deny", "bash | * | allow"},
			seen: permission.CommandContext{Known: []string{".e\x00"}}, text: "cat .e*", want: session.Allow,
		},
		{
			name: "another is not", rules: []string{"read | *.env | deny", "bash | * | allow"},
			seen: permission.CommandContext{Known: []string{".e\x00"}}, text: "cat .e* $f", want: session.Ask,
		},
		{
			name: "a set of characters", rules: []string{"read | *.env | deny", "bash | * | allow"}, text: "cat .[e]nv",
			want: session.Ask,
		},
		{name: "the rule for commands stands", rules: []string{"bash | * | deny"}, text: "cat $f", want: session.Deny},
		{
			name: "one ask is enough", rules: []string{"read | *.env | ask", "bash | * | ask"}, text: "cat $f",
			want: session.Ask,
		},
	} {
		layers := []permission.Layer{layer("defaults", "* | * | allow"), layer("user", c.rules...)}
		if d := permission.EvaluateAll(
			layers, nil, permission.Subject{Action: "bash", Resources: []string{c.text}, Command: c.seen},
		); d.Effect != c.want {
			t.Errorf("%s: %s is %s by %+v, want %s", c.name, c.text, d.Effect, d.Rule, c.want)
		}
	}
	layers := []permission.Layer{layer("user", "read | * | allow", "read | *.env | ask", "bash | * | allow")}
	if d := permission.Evaluate(layers, rules("bash | cat * | allow"), "bash", "cat $f"); d.Effect != session.Ask {
		t.Errorf("%+v", d) // bash did not ask: the approval is not what allows it
	}
	layers = []permission.Layer{layer("user", "read | * | allow", "read | *.env | ask", "bash | * | ask")}
	if d := permission.Evaluate(layers, rules("bash | cat * | allow"), "bash", "cat $f"); d.Effect != session.Allow {
		t.Errorf("an approval that names the program does not count: %+v", d)
	}
	if d := permission.Evaluate(layers, rules("bash | * | allow"), "bash", "cat $f"); d.Effect != session.Ask {
		t.Errorf("an approval of everything counts: %+v", d)
	}
}

func TestProtected(t *testing.T) {
	all := layer("user", "* | * | allow", "edit | * | allow")
	for _, c := range []struct {
		path      string
		rules     []string
		approvals []session.Rule
		want      session.Effect
	}{
		{path: ".git/hooks/pre-commit", want: session.Ask},
		{path: "a/.git/config", want: session.Ask},
		{path: ".git", want: session.Ask},
		{path: ".GIT/config", want: session.Ask},
		{path: "GIT~1/config", want: session.Ask},
		{path: ".g\u200cit/config", want: session.Ask},
		{path: ".git./config", want: session.Ask},
		{path: `a\.git\config`, want: session.Ask},
		{path: ".cairn/agents/a.md", want: session.Ask},
		{path: ".opencode/plugin/a.js", want: session.Ask},
		{path: "cairn.json", want: session.Ask},
		{path: "sub/opencode.jsonc", want: session.Ask},
		{path: "/home/u/.bashrc", want: session.Ask},
		{path: "/home/u/.config/cairn/x", want: session.Ask},
		{path: "/etc/profile.d/x", want: session.Ask},
		{path: "/home/u/.ssh/authorized_keys", want: session.Ask},
		{path: ".g*t/config", want: session.Ask},

		{path: ".bashrc", want: session.Allow},
		{path: "AGENTS.md", want: session.Allow},
		{path: ".gitignore", want: session.Allow},
		{path: ".github/workflows/a.yml", want: session.Allow},
		{path: "mycairn.json", want: session.Allow},
		{path: "cairn.json.bak", want: session.Allow},
		{path: "etc/passwd", want: session.Allow},
		{path: "*/config", want: session.Allow},

		{path: ".git/config", rules: []string{"edit | .git/* | allow"}, want: session.Allow},
		{path: ".git/config", rules: []string{"edit | .git/* | allow", "edit | * | allow"}, want: session.Ask},
		{path: "a/.git/config", rules: []string{"edit | *.git/* | allow"}, want: session.Allow},
		{path: "cairn.json", rules: []string{"edit | *.json | allow"}, want: session.Ask},
		{path: "cairn.json", rules: []string{"edit | cairn.json | allow"}, want: session.Allow},
		{path: "cairn.json", rules: []string{"edit | cairn.json | deny"}, want: session.Deny},
		{path: ".git/config", rules: []string{"edit | * | deny"}, want: session.Deny},
		{path: ".git/config", approvals: rules("edit | * | allow"), want: session.Ask},
		{path: ".git/config", approvals: rules("edit | .git/config | allow"), want: session.Allow},
		{
			path: ".git/config", approvals: rules("edit | .git/config | allow"), rules: []string{"edit | .git/* | deny"},
			want: session.Deny,
		},
	} {
		layers := []permission.Layer{all, layer("project", c.rules...)}
		if d := permission.Evaluate(layers, c.approvals, "edit", c.path); d.Effect != c.want {
			t.Errorf("%s under %v and %v is %s by %+v, want %s", c.path, c.rules, c.approvals, d.Effect, d, c.want)
		}
		if d := permission.Evaluate(layers, nil, "read", c.path); d.Effect != session.Allow {
			t.Errorf("reading %s is %s", c.path, d.Effect)
		}
	}
	d := permission.Evaluate([]permission.Layer{all}, nil, "edit", ".git/config")
	if d.Layer != permission.Protected || d.Source == "" || d.Rule == nil || d.Rule.Resource != ".git" {
		t.Errorf("%+v", d)
	}
}

func FuzzGuarded(f *testing.F) {
	f.Add(".git/x")
	f.Add("/a/.SSH./x")
	f.Fuzz(func(t *testing.T, path string) {
		if name := permission.ProtectedName(path); name != "" && permission.ProtectedName("a/"+path) == "" && path != "" &&
			path[0] != '/' && path[0] != '~' && path[0] != '\\' {
			t.Errorf("%q is %s, and below a directory it is not", path, name)
		}
	})
}
