package config

import (
	"path/filepath"
	"testing"
)

// Every environment variable of the configuration has its effect under both of its names.
func TestEnvironmentVariables(t *testing.T) {
	files := map[string]string{
		"named.json": `{"shell": "/named"}`, "dir/command/c.md": "Do it.",
		"repo/cairn.json": `{"small_model": "a/project"}`,
	}
	tests := []struct {
		name, value string
		off         string // a value with which it does nothing
		holds       func(p *testPlace, c *Config) bool
	}{
		{"CONFIG", "named.json", "", func(_ *testPlace, c *Config) bool { return c.Shell == "/named" }},
		{
			"CONFIG_CONTENT",
			`{"shell": "/content"}`,
			"",
			func(_ *testPlace, c *Config) bool { return c.Shell == "/content" },
		},
		{"CONFIG_DIR", "dir", "", func(_ *testPlace, c *Config) bool { return c.Command["c"].Template == "Do it." }},
		{"PERMISSION", `{"bash": "deny"}`, "", func(_ *testPlace, c *Config) bool { return len(c.Permissions) == 1 }},
		{"DISABLE_PROJECT_CONFIG", "True", "0", func(_ *testPlace, c *Config) bool { return c.SmallModel == "" }},
		{"DISABLE_AUTOCOMPACT", "1", "no", func(_ *testPlace, c *Config) bool { return !c.Compaction.Auto }},
		{"DISABLE_PRUNE", "TRUE", "false", func(_ *testPlace, c *Config) bool {
			return c.Compaction.Prune != nil && !*c.Compaction.Prune
		}},
		{
			"DISABLE_CLAUDE_CODE",
			"1",
			"",
			func(p *testPlace, _ *Config) bool { return p.foreigners() == ForeignFiles{Prompts: true, Claude: true} },
		},
		{
			"DISABLE_CLAUDE_CODE_PROMPT",
			"1",
			"",
			func(p *testPlace, _ *Config) bool { return p.foreigners() == ForeignFiles{Prompts: true} },
		},
		{
			"DISABLE_CLAUDE_CODE_SKILLS",
			"1",
			"",
			func(p *testPlace, _ *Config) bool { return p.foreigners() == ForeignFiles{Claude: true} },
		},
		{"DISABLE_EXTERNAL_SKILLS", "1", "", func(p *testPlace, _ *Config) bool {
			return p.foreigners() == ForeignFiles{Claude: true, External: true}
		}},
		{"EXPERIMENTAL_OUTPUT_TOKEN_MAX", "17", "-3", func(p *testPlace, _ *Config) bool {
			return PositiveNumber(func(k string) string { return p.env[k] }, "EXPERIMENTAL_OUTPUT_TOKEN_MAX") == 17
		}},
	}
	for _, tt := range tests {
		for _, prefix := range []string{"CAIRN_", "OPENCODE_"} {
			p := newPlace(t, files)
			value := tt.value
			if tt.name == "CONFIG" || tt.name == "CONFIG_DIR" {
				value = filepath.Join(p.root, value)
			}
			p.env[prefix+tt.name] = tt.off
			if tt.holds(p, p.mustLoad()) {
				t.Errorf("%s%s=%s holds", prefix, tt.name, tt.off)
			}
			p.env[prefix+tt.name] = value
			if !tt.holds(p, p.mustLoad()) {
				t.Errorf("%s%s=%s does nothing", prefix, tt.name, value)
			}
		}
	}
	p := newPlace(t, nil)
	p.env["CAIRN_CONFIG_CONTENT"], p.env["OPENCODE_CONFIG_CONTENT"] = `{"shell": "/ours"}`, `{"shell": "/theirs"}`
	if c := p.mustLoad(); c.Shell != "/ours" {
		t.Errorf("of the two names %s counts", c.Shell)
	}
}

func (p *testPlace) foreigners() ForeignFiles {
	return DisabledForeignFiles(func(k string) string { return p.env[k] })
}
