package permission_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// hooksDenied allows the folder of a repository except its hooks.
var hooksDenied = []string{"edit | .git/* | allow", "edit | .git/hooks/* | deny"}

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

		{path: ".github/workflows/a.yml", want: session.Ask},
		{path: "sub/.GitHub/Workflows", want: session.Ask},
		{path: ".vscode/tasks.json", want: session.Ask},
		{path: ".claude/settings.json", want: session.Ask},
		{path: ".agents/skills/a/SKILL.md", want: session.Ask},
		{path: ".husky/pre-commit", want: session.Ask},
		{path: ".circleci/config.yml", want: session.Ask},
		{path: ".cursor/mcp.json", want: session.Ask},
		{path: ".idea/runConfigurations/a.xml", want: session.Ask},
		{path: "sub/.devcontainer/devcontainer.json", want: session.Ask},
		{path: ".zed/tasks.json", want: session.Ask},
		{path: ".gemini/settings.json", want: session.Ask},
		{path: ".codex/config.toml", want: session.Ask},
		{path: ".nvim.lua", want: session.Ask},
		{path: ".exrc", want: session.Ask},
		{path: ".pre-commit-config.yaml", want: session.Ask},
		{path: "lefthook.yml", want: session.Ask},
		{path: ".yarnrc.yml", want: session.Ask},
		{path: "mise.toml", want: session.Ask},
		{path: "mise.local.toml", want: session.Ask},
		{path: ".config/mise/config.toml", want: session.Ask},
		{path: ".devcontainer.json", want: session.Ask},
		{path: ".vimrc", want: session.Ask},
		{path: ".forgejo/workflows/a.yml", want: session.Ask},
		{path: ".travis.yml", want: session.Ask},
		{path: "Jenkinsfile", want: session.Ask},
		{path: ".envrc", want: session.Ask},
		{path: "sub/.mcp.json", want: session.Ask},
		{path: ".gitlab-ci.yml", want: session.Ask},

		{path: ".bashrc", want: session.Allow},
		{path: "AGENTS.md", want: session.Allow},
		{path: ".gitignore", want: session.Allow},
		{path: ".github/CODEOWNERS", want: session.Allow},
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
		{path: ".git", rules: []string{"edit | .git/* | allow"}, want: session.Allow},
		{path: ".git", approvals: rules("edit | .git/* | allow"), want: session.Allow},
		{path: ".git", rules: hooksDenied, want: session.Ask},
		{path: ".git/hooks/x", rules: hooksDenied, want: session.Deny},
		{path: ".git/config", rules: hooksDenied, want: session.Allow},
		{path: ".git", rules: []string{"edit | .git/config | allow"}, want: session.Ask},
		{path: ".git", rules: []string{"edit | .git/* | allow", "edit | .git | ask"}, want: session.Ask},
		{path: ".git/hooks", rules: []string{"edit | .git/hooks/* | allow"}, want: session.Allow},
		{path: ".vscode", rules: []string{"edit | .vscode/* | allow", "edit | * | allow"}, want: session.Ask},
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

// A directory whose rules deny some files below it is not writable as a whole.
func TestAllowsEdit(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []string
		want  bool
	}{
		{".git/hooks/", []string{"edit | .git/* | allow"}, true},
		{".git/hooks/", hooksDenied, false},
		{".git/hooks/", []string{"edit | .git/* | allow", "edit | .git/hooks/pre-commit | deny"}, false},
		{".git/hooks/", []string{"edit | .git/* | allow", "edit | */pre-commit | deny"}, false},
		{".git/config", hooksDenied, true},
		{".git/config", []string{"edit | * | ask", "edit | .git/config | allow"}, true},
		{".envrc/", []string{"edit | * | ask", "edit | .envrc | allow"}, true}, // which does not exist yet
		{".envrc", nil, false},
		{".vscode/", []string{"edit | .vscode/* | allow"}, true},
		{".vscode/", []string{"edit | .vscode/* | allow", "edit | .vscode/tasks.json | deny"}, false},
	} {
		layers := []permission.Layer{layer("user", "* | * | allow"), layer("project", c.rules...)}
		if got := permission.AllowsEdit(layers, nil, c.name); got != c.want {
			t.Errorf("%s under %v: %t", c.name, c.rules, got)
		}
	}
}

func FuzzGuarded(f *testing.F) {
	f.Add(".git/x")
	f.Add("/a/.SSH./x")
	f.Fuzz(func(t *testing.T, path string) {
		if name := permission.ProtectedName(path); name != "" && permission.ProtectedName("a/"+path) == "" &&
			path != "" &&
			path[0] != '/' &&
			path[0] != '~' &&
			path[0] != '\\' {
			t.Errorf("%q is %s, and below a directory it is not", path, name)
		}
	})
}
