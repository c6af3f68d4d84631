package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestMarkdown(t *testing.T) {
	p := newPlace(t, map[string]string{
		"home/.config/opencode/agent/old.md": "Old.",
		"home/.config/cairn/agents/a/b.md": "---\ndescription: Use it: now\nmodel: x/y\nsteps: 3\ntemperature: 0.5\n" +
			"tools:\n  write: false\nreasoningEffort: low\n---\n\nDo {env:HOME}.\n",
		"home/.config/cairn/modes/slow.md":        "---\nmodel: x/slow\n---\n",
		"home/.config/cairn/command/ship.md":      "---\nagent: build\nsubtask: true\n---\nShip $1.",
		"home/.opencode/agent/old.md":             "Newer.",
		"repo/.opencode/agent/old.md":             "---\ncolor: '#ff0000'\n---\nOf the project.",
		"repo/sub/.cairn/agent/old.md":            "---\nmode: subagent\n---\nNearest.",
		"repo/.cairn/agent/not-markdown.txt":      "x",
		"home/.config/cairn/agent/.md":            "no name",
		"home/.config/cairn/command/sub/deep.md":  "Deep.",
		"home/.config/cairn/cairn.json":           `{"agent": {"old": {"description": "From JSON."}}}`,
		"repo/.cairn/agent/nested/very/inside.md": "Inside.",
	})
	c := p.mustLoad()
	old := c.Agent["old"]
	if diff := cmp.Diff(Agent{Prompt: "Nearest.", Description: "From JSON.", Color: "#ff0000", Mode: "subagent"},
		old); diff != "" {
		t.Error(diff)
	}
	ab := c.Agent["a/b"]
	if ab.Description != "Use it: now" || ab.Model != "x/y" || ab.Steps != 3 || *ab.Temperature != 0.5 ||
		ab.Prompt != "Do {env:HOME}." ||
		string(ab.Extra) != `{"reasoningEffort":"low"}` {
		t.Errorf("got %+v", ab)
	}
	if rules := c.AgentRules("a/b"); len(rules) != 1 || rules[0].Rules[0] != rule("edit", "*", session.Deny) {
		t.Errorf("got %+v", rules)
	}
	if c.Agent["slow"].Mode != "primary" || c.Agent["slow"].Model != "x/slow" ||
		c.Agent["nested/very/inside"].Prompt != "Inside." {
		t.Errorf("got %+v", c.Agent)
	}
	if diff := cmp.Diff(map[string]Command{
		"ship":     {Template: "Ship $1.", Agent: "build", Subtask: new(true)},
		"sub/deep": {Template: "Deep."},
	}, c.Command); diff != "" {
		t.Error(diff)
	}
	from := c.Explain("agent.old.prompt")
	if len(from) != 1 || p.short(from[0].Source.String()) != "repo/sub/.cairn/agent/old.md:4:1" ||
		len(from[0].Overrode) != 3 {
		t.Errorf("got %+v", from)
	}
	if from := c.Explain("agent.a/b.model"); p.short(from[0].Source.String()) != "home/.config/cairn/agents/a/b.md:3:8" {
		t.Errorf("got %+v", from)
	}
}

func TestMarkdownErrorsHavePositions(t *testing.T) {
	for text, want := range map[string]string{
		"---\nmode: boss\n---": `agent/x.md:2:7: agent.x.mode: want "primary", "subagent" or "all", got "boss"`,
		"---\na: 1\ncolor: mauve\n---": `agent/x.md:3:8: agent.x.color: want "#rrggbb", "primary", "secondary", "accent", ` +
			`"success", "warning", "error" or "info", got "mauve"`,
		"---\nsteps: many\n---":         `agent/x.md:2:8: agent.x.steps: want a whole number above 0, got "many"`,
		"---\na: &b 1\n---":             `agent/x.md:2: invalid frontmatter: anchors and aliases are not supported`,
		"---\npermission: sure\n---\nx": `agent/x.md:2:13: agent.x.permission: want "allow", "ask" or "deny", got "sure"`,
	} {
		p := newPlace(t, map[string]string{"home/.config/cairn/agent/x.md": text})
		p.all = true
		c, err := p.load()
		if err != nil || len(c.Errors) != 0 {
			t.Fatalf("%q: %v", text, err)
		}
		got := strings.Replace(p.leftOut(c), ": : ", ": ", 1)
		if strings.TrimPrefix(got, "home/.config/cairn/") != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

// New, changed and removed Markdown files make a configuration stale.
func TestMarkdownIsFresh(t *testing.T) {
	p := newPlace(t, map[string]string{"repo/.cairn/agent/x.md": "one"})
	for name, text := range map[string]string{
		"repo/.cairn/agent/x.md": "three", "repo/.cairn/agent/y.md": "y",
		"repo/sub/.opencode/mode/z.md": "z", "home/.config/cairn/command/c.md": "c",
	} {
		c := p.mustLoad()
		if !c.IsFresh() {
			t.Fatal("stale at once")
		}
		p.write(name, text)
		if c.IsFresh() {
			t.Errorf("%s: the change was not seen", name)
		}
	}
}

func TestManagedLayerWins(t *testing.T) {
	p := newPlace(t, map[string]string{
		userFile: `{"share": "auto", "snapshot": false}`, "etc/opencode.json": `{"share": "disabled", "permission": ` +
			`{"bash": "deny"}}`,
		"etc/agent/house.md": "Rules of the house.",
	})
	p.env["CAIRN_CONFIG_CONTENT"] = `{"share": "manual"}`
	c := p.mustLoad()
	if c.Share != "disabled" || c.Snapshot || c.Agent["house"].Prompt == "" ||
		c.Permissions[len(c.Permissions)-1].Source != p.root+"/etc/opencode.json" {
		t.Errorf("got %+v, %+v", c.Settings, c.Permissions)
	}
}

func TestBothShapes(t *testing.T) {
	v1 := `{"agent": {"a": {"prompt": "p", "maxSteps": 2, "disable": true}}, "permission": {"bash": "deny", "task": {"x": "ask"}},
		"command": {"c": {"template": "t"}}, "mcp": {"m": {"type": "remote", "url": "u", "timeout": 5000}},
		"skills": {"paths": ["a"], "urls": ["https://b"]}, "reference": {"r": "./r"}, "attachment": {"image": {"max_width": 5}}, "snapshot": false}`
	v2 := `{"agents": {"a": {"system": "p", "steps": 2, "disabled": true}},
		"permissions": [{"action": "shell", "effect": "deny"}, {"action": "subagent", "resource": "x", "effect": "ask"}],
		"commands": {"c": {"template": "t"}}, "mcp": {"servers": {"m": {"type": "remote", "url": "u", "timeout": 5000}}},
		"skills": ["a", "https://b"], "references": {"r": "./r"}, "attachments": {"image": {"max_width": 5}}, "snapshots": false}`
	one, two := newPlace(t, map[string]string{userFile: v1}).mustLoad(),
		newPlace(t, map[string]string{userFile: v2}).mustLoad()
	if diff := cmp.Diff(one.Settings, two.Settings); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(one.Permissions[0].Rules, two.Permissions[0].Rules); diff != "" || len(one.Warnings) == 0 {
		t.Error(diff)
	}
	if one.MCP["m"].URL != "u" || one.Skills.URLs[0] != "https://b" || one.Command["c"].Template != "t" ||
		one.Attachment.Image.MaxWidth != 5 {
		t.Errorf("got %+v", one.Settings)
	}
}

func TestPluginsAreMerged(t *testing.T) {
	p := newPlace(t, map[string]string{
		"home/.config/opencode/opencode.json": `{"plugin": ["a", ["b", {"x": 1}]]}`,
		userFile:                              `{"plugin": [["b", {"x": 2}], "c"]}`,
	})
	var got []string
	for _, v := range p.mustLoad().Plugin {
		got = append(got, string(v))
	}
	if diff := cmp.Diff([]string{`"a"`, `["b",{"x":2}]`, `"c"`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAllErrorsAreKept(t *testing.T) {
	p := newPlace(t, map[string]string{
		userFile: "{\n \"model\": 1,\n \"snapshot\": \"x\",\n \"shell\": \"/bin/zsh\",\n" +
			" \"permission\": [{\"action\": \"a\"}, {\"action\": 1, \"effect\": \"deny\"}, {\"action\": \"bash\", \"effect\": \"deny\"}, {\"action\": \"b\", " +
			"\"effect\": \"no\"}]}",
		"repo/cairn.json":           "{",
		"repo/.cairn/agent/x.md":    "---\nsteps: no\n---",
		"repo/sub/cairn.json":       `{"default_agent": "plan"}`,
		"home/.config/cairn/p.json": "",
	})
	p.env["CAIRN_CONFIG"] = p.root + "/nowhere.json"
	if _, err := p.load(); err == nil {
		t.Error("loads")
	}
	p.all = true
	c := p.mustLoad()
	var got []string
	for _, e := range c.Errors {
		got = append(got, p.short(e.Error()))
	}
	want := []string{
		"nowhere.json: no such file or directory; CAIRN_CONFIG names this file",
		userFile + ":5:17: permission: want rules {action, resource, effect}; action or effect is missing",
		userFile + ":5:45: permission.action: want a string, got a number",
		userFile + ":5:131: permission.effect: want \"allow\", \"ask\" or \"deny\", got \"no\"",
		"repo/cairn.json:1:2: invalid JSON (comments and trailing commas are allowed): unexpected end of file",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.Shell != "/bin/zsh" || c.DefaultAgent != "plan" || len(c.Permissions[0].Rules) != 1 {
		t.Errorf("what is right is lost: %+v", c.Settings)
	}
}
