package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/session"
)

const aliasBomb = "---\na: &a [x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]\n---\nhi\n"

// loadFiles loads the configuration of a home with the files, named relative to it.
func loadFiles(t *testing.T, files map[string]string) (*Config, error) {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string { return map[string]string{"CAIRN_HOME": home, "HOME": home}[name] }
	dirs, err := FindDirectories(getenv)
	if err != nil {
		t.Fatal(err)
	}
	return Load(t.Context(), Options{
		Directory: filepath.Join(home, "project"), Worktree: filepath.Join(home, "project"), Dirs: dirs, Env: getenv,
	})
}

// TestRepeatedKeyInMarkdown: the last value of a key counts, as in JSON, the rest of the file stays in effect, and one
// warning names the key and the file.
func TestRepeatedKeyInMarkdown(t *testing.T) {
	for _, folder := range []string{"project/.cairn", "config"} {
		c, err := loadFiles(t, map[string]string{
			"project/x":            "",
			folder + "/agent/a.md": "---\ndescription: one\nmode: subagent\ndescription: two\n---\nDo it.\n",
		})
		if err != nil {
			t.Fatal(err)
		}
		if a := c.Agent["a"]; a.Description != "two" || a.Mode != "subagent" || a.Prompt != "Do it." {
			t.Errorf("%s: %+v", folder, a)
		}
		if len(c.Warnings) != 1 || !strings.HasSuffix(c.Warnings[0].File, folder+"/agent/a.md") ||
			!strings.Contains(c.Warnings[0].String(), "description") {
			t.Errorf("%s: warnings %v", folder, c.Warnings)
		}
	}
}

// TestInvalidMarkdownIsLeftOut: a file of an agent or command that cannot be read stops nothing else, and one warning
// names it.
func TestInvalidMarkdownIsLeftOut(t *testing.T) {
	broken := map[string]string{
		"bomb": aliasBomb, "types": "---\ndescription: d\ntemperature: [hot]\n---\nx\n",
		"rules": "---\npermission: 7\n---\nx\n", "large": strings.Repeat("x", document.MaxSize+1),
		"deep": "---\na: " + strings.Repeat("[", 200) + "\n---\nx\n",
	}
	for _, folder := range []string{"project/.cairn", "config"} {
		files := map[string]string{
			"project/x": "", folder + "/agent/good.md": "---\ndescription: d\n---\ngood\n",
			folder + "/agent/directory.md/x": "", folder + "/command/good.md": "do it\n",
		}
		for name, text := range broken {
			files[folder+"/agent/"+name+".md"] = text
			if name != "rules" && name != "types" { // fields that commands do not have
				files[folder+"/command/"+name+".md"] = text
			}
		}
		c, err := loadFiles(t, files)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		if c.Agent["good"].Prompt == "" || c.Command["good"].Template == "" {
			t.Errorf("%s: the valid files are missing", folder)
		}
		for path := range files {
			name := strings.TrimSuffix(filepath.Base(path), ".md")
			if broken[name] == "" {
				continue
			}
			count := 0
			for _, w := range c.Warnings {
				if strings.HasSuffix(w.File, path) && w.Kind == WarnUnread {
					count++
				}
			}
			if count != 1 {
				t.Errorf("%s: named by %d warnings, want 1: %v", path, count, c.Warnings)
			}
		}
	}
}

// TestInvalidAgentIsRemoved: a built-in agent does not run without the rules that its invalid file would have set. The
// file of an untrusted project removes no agent.
func TestInvalidAgentIsRemoved(t *testing.T) {
	for folder, removed := range map[string]bool{"config": true, "project/.cairn": false} {
		text := "---\npermission:\n  edit: deny\n  bash: 7\n---\nx\n"
		c, err := loadFiles(t, map[string]string{folder + "/agent/build.md": text, "project/x": ""})
		if err != nil {
			t.Fatal(err)
		}
		disable := c.Agent["build"].Disable
		if (disable != nil && *disable) != removed || len(c.AgentRules("build")) > 1 {
			t.Errorf("%s: the agent build is removed: %v, want %v; rules %v", folder, disable, removed, c.AgentRules("build"))
		}
	}
}

// TestOneOddValueStopsNothing: a value of the user's or the project's file that cannot be read is left out with a
// warning, unless it may forbid something.
func TestOneOddValueStopsNothing(t *testing.T) {
	for text, want := range map[string]string{
		`{"username": "a", "username": "b"}`:                     "",
		`{"mcp": {"a": {"url": 1}}, "mcp": {"b": {}}}`:           "",
		`{"agent": {"a": {"maxSteps": 2, "steps": 3}}}`:          "",
		`{"snapshot": "yes", "timeouts": {"turn": "never"}}`:     "",
		`{"agent": {"a": {"temperature": "0.2", "color": "x"}}}`: "",
		`{"agent": {"a": "text"}, "command": {"c": 7}}`:          "",
		`{"provider": {"p": {"models": {"m": {"limit": "x"}}}}}`: "",
		`{"model": 7}`: "",
		`{"instructions": "AGENTS.md", "logLevel": "loud"}`:         "",
		`{"plugin": {"x": "{file:~/missing}"}}`:                     "",
		`{"permission": 7}`:                                         "permission",
		`{"permission": {"bash": "deny"}, "permission": "ask"}`:     "permission",
		`{"permission": {"bash": "deny", "bash": "ask"}}`:           "permission.bash",
		`{"permissions": [], "permission": {"bash": "deny"}}`:       "permission",
		`{"agent": {"a": {"tools": {"bash": "no"}}}}`:               "agent.a.tools.bash",
		`{"agent": {"a": {"permission": {}}}, "agent": {}}`:         "agent",
		`{"agent": {"a": {"disable": "yes"}}}`:                      "agent.a.disable",
		`{"agent": [{"permission": {}}]}`:                           "agent",
		`{"sandbox": "tight"}`:                                      "sandbox.mode",
		`{"budget": {"usd": "5"}}`:                                  "budget.usd",
		`{"disabled_providers": "openai"}`:                          "disabled_providers",
		`{"provider": {"p": {"options": {"baseURL": 1}}}}`:          "provider.p.options.baseURL",
		`{"provider": {"p": {"options": {"apiKey": "{file:no}"}}}}`: "provider.p.options.apiKey",
		`{"experimental": {"policies": [{"effect": "no"}]}}`:        "experimental.policies.effect",
	} {
		for _, file := range []string{"config/cairn.json", "project/opencode.json"} {
			c, err := loadFiles(t, map[string]string{file: text, "project/x": ""})
			e, _ := errors.AsType[*Error](err)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s %s: %v", file, text, err)
			case want == "" && file == "config/cairn.json" && len(c.Warnings) == 0:
				t.Errorf("%s %s: no warning", file, text)
			case want != "" && file == "config/cairn.json" && (e == nil || e.Key != want):
				t.Errorf("%s %s: got %v, want an error of %s", file, text, err, want)
			}
		}
	}
	c, err := loadFiles(t, map[string]string{
		"config/cairn.json": `{"username": "a", "instructions": "X.md", "username": "b", "model": 7}`,
	})
	if err != nil || c.Username != "b" || !slices.Equal(c.Instructions, []string{"X.md"}) || c.Model.BareName() != "7" {
		t.Errorf("got %+v, %v", c.Settings, err)
	}
}

// TestClaudeForm: files of agents and commands in the form of Claude Code are read, and what cannot be is named.
func TestClaudeForm(t *testing.T) {
	c, err := loadFiles(t, map[string]string{
		"project/x": "",
		"config/agent/r.md": "---\nname: reviewer\ndescription: d\ntools: Read, Grep, Bash(git diff:*), mcp__x\n" +
			"model: sonnet\n" +
			"color: purple\npermissionMode: plan\nmaxTurns: 3\n---\nYou review.\n",
		"config/agent/l.md":   "---\ntools: [Read, Write]\nmodel: inherit\ncolor: mauve\nmode: sub-agent\n---\nx\n",
		"config/agent/d.md":   "---\ndisallowedTools: Bash, Write\ntools:\n---\nx\n",
		"config/agent/all.md": "---\ntools: '*'\n---\nx\n",
		"config/agent/p.md": "---\npermissionMode: plan\ndisallowedTools: Read(./secret/), WebFetch(domain:example.com), " +
			"Bash(rm:*)\n---\nx\n",
		"config/agent/n.md": "---\ntools: Bash(echo (a)), Edit(a (b (c)))\n---\nx\n",
		"config/agent/u.md": "---\ndisallowedTools: Bash(a (b (c)))\n---\nx\n",
		"config/command/c.md": "---\nname: ship\nallowed-tools: Bash(git:*)\n" +
			"argument-hint: '[x]'\nmodel: opus\n---\nShip.\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	c.ResolveBareModels(func(name string) *session.ModelRef {
		return map[string]*session.ModelRef{"sonnet": {ProviderID: "anthropic", ID: "claude-sonnet"}}[name]
	})
	a := c.Agent["reviewer"]
	if a.Prompt != "You review." || a.Model != "anthropic/claude-sonnet" || a.Color != "#9333ea" || a.Extra != nil ||
		c.Agent["r"].Prompt != "" {
		t.Errorf("got %+v", c.Agent)
	}
	if l := c.Agent["l"]; l.Model.Ref() != nil || l.Color != "" || l.Mode != "subagent" || l.Prompt != "x" {
		t.Errorf("got %+v", l)
	}
	if ship := c.Command["ship"]; ship.Template != "Ship." || ship.Model.Ref() != nil {
		t.Errorf("got %+v", c.Command)
	}
	got := map[string]string{}
	for _, name := range []string{"reviewer", "l", "d", "p", "n", "u"} {
		for _, r := range c.AgentRules(name)[0].Rules {
			if r.Action == "bash" || r.Action == "edit" || r.Action == "read" || r.Action == "webfetch" {
				got[name] += fmt.Sprintf("%s %s %s, ", r.Effect, r.Action, r.Resource)
			}
		}
	}
	want := map[string]string{
		"reviewer": "deny bash *, ask bash git diff *, deny edit *, deny webfetch *, deny bash *, deny edit *, ",
		"l":        "deny bash *, deny webfetch *, ", "d": "deny bash *, deny edit *, ",
		"n": "deny bash *, ask bash echo (a), deny edit *, deny read *, deny webfetch *, ", "u": "deny bash *, ",
		"p": "deny bash *, deny bash rm *, deny edit *, deny read secret/*, deny webfetch *example.com*, ",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(c.AgentRules("all")) != 0 {
		t.Error(diff)
	}
	var named []string
	for _, w := range c.Warnings {
		named = append(named, string(w.Kind)+" "+w.Key)
	}
	slices.Sort(named)
	if diff := cmp.Diff([]string{
		"ignored agent.n.tools", "ignored agent.reviewer.model", "ignored agent.reviewer.tools",
		"ignored agent.u.disallowedTools", "ignored command.ship.model",
		"unread agent.l.color", "unused agent.p.permissionMode",
		"unused agent.reviewer.maxTurns", "unused agent.reviewer.permissionMode", "unused command.ship.allowed-tools",
		"unused command.ship.argument-hint",
	}, named); diff != "" {
		t.Error(diff)
	}
}

// TestProjectReferences: {file:path} of a file of the project is read in a project's texts; no other reference reaches
// a model as its characters.
func TestProjectReferences(t *testing.T) {
	files := map[string]string{
		"secret": "s", "project/prompts/build.txt": " Build it. \n",
		"project/run.txt": "See !`date`", "project/plan.md": "Plan.",
		"project/opencode.json": `{"model": "{env:M}", "instructions": ["{file:./x}"], "agent": {
			"build": {"prompt": "{file:./prompts/build.txt}", "description": "{file:prompts/build.txt} Now."},
			"plan": {"prompt": "{file:../secret}"}, "no": {"prompt": "{file:./missing}", "description": "{env:HOME}"}},
			"command": {"say": {"template": "{file:plan.md}"}, "run": {"template": "{file:run.txt}"}}}`,
		"project/.cairn/cairn.json": `{"agent": {"near": {"prompt": "{file:../plan.md}"}}}`,
	}
	c, err := loadFiles(t, files)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"build": "Build it.", "near": "Plan.", "plan": "", "no": ""}
	for name, prompt := range want {
		if c.Agent[name].Prompt != prompt {
			t.Errorf("%s: got %q", name, c.Agent[name].Prompt)
		}
	}
	if c.Model != "" || len(c.Instructions) > 0 || c.Agent["build"].Description != "Build it. Now." ||
		c.Agent["no"].Description != "" || c.Command["say"].Template != "Plan." || c.Command["run"].Template != "" {
		t.Errorf("got %+v, %+v", c.Settings, c.Warnings)
	}
	var claimed []string
	for _, f := range c.Claim.Files {
		claimed = append(claimed, f.Path)
	}
	if !slices.Contains(claimed, "run.txt") {
		t.Errorf("a template that runs a program is not hashed: %v", claimed)
	}
}

// TestPatternsThatMatchNothing: a rule for files whose pattern is no path of the project is named, with a better one.
func TestPatternsThatMatchNothing(t *testing.T) {
	c, err := loadFiles(t, map[string]string{"project/x": "", "config/cairn.json": `{"permission": {
		"edit": {"*": "ask", "./secret.txt": "deny", "docs/": "deny", "a//b": "ask", "src/**/x": "deny", "*.env": "deny"},
		"read": {"../x": "deny", "~/y": "deny", "": "deny"}, "bash": {"./run.sh": "deny", "make docs/": "ask"},
		"external_directory": {"shared/*": "deny", "/tmp/": "ask", "~/z/*": "allow", "*/tmp/*": "ask"}},
		"agent": {"a": {"permission": {"edit": {"./b/": "deny"}}}}}`})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Warnings {
		got = append(got, string(w.Kind)+" "+w.Key+strings.ReplaceAll(
			strings.TrimPrefix(w.Message, "has no effect:"), filepath.Dir(c.Claim.Root), "HOME",
		))
	}
	if diff := cmp.Diff([]string{
		`unmatched permission.edit[./secret.txt] "./secret.txt" matches no path; write "secret.txt"`,
		`unmatched permission.edit[docs/] "docs/" matches no path; write "docs/*"`,
		`unmatched permission.edit[a//b] "a//b" matches no path; write "a/b"`,
		`unmatched permission.read[../x] "../x" matches no path; write "HOME/x"`,
		`unmatched permission.read[] "" matches no path; write "*"`,
		`unmatched permission.external_directory[shared/*] "shared/*" matches no path; write "HOME/project/shared/*"`,
		`unmatched permission.external_directory[/tmp/] "/tmp/" matches no path; write "/tmp/*"`,
		`unmatched agent.a.permission.edit[./b/] "./b/" matches no path; write "b/*"`,
	}, got); diff != "" {
		t.Error(diff)
	}
}

// TestGroupWarnings: one warning names all keys with the same message.
func TestGroupWarnings(t *testing.T) {
	got := GroupWarnings([]Warning{
		{Kind: WarnUntrusted, Key: "a", Message: "m"},
		{Kind: WarnUnused, Key: "b", Message: "m"},
		{Kind: WarnUntrusted, Key: "c", Message: "m"},
		{Kind: WarnUntrusted, Position: document.Position{File: "f"}, Message: "m"},
	})
	want := []Warning{
		{Kind: WarnUntrusted, Key: "a", Message: "m (and 2 more: c, f)"}, {Kind: WarnUnused, Key: "b", Message: "m"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
