package config

import "testing"

const realistic = `{
  "$schema": "https://opencode.ai/config.json", // a comment
  "theme": "opencode", "autoupdate": true, "share": "manual", "snapshot": false, "logLevel": "INFO",
  "model": "anthropic/claude-sonnet-4", "small_model": "openai/gpt-5-nano",
  "disabled_providers": ["x"], "instructions": ["CONTRIBUTING.md", ".cursor/rules/*.md"],
  "permission": {"edit": "ask", "bash": {"*": "ask", "git status *": "allow"}, "webfetch": "deny"},
  "tools": {"my-mcp*": false},
  "provider": {
    "ollama": {"npm": "@ai-sdk/openai-compatible", "name": "Ollama (local)", "options": {"baseURL": "http://localhost:11434/v1"}, "models": {"llama2": {"name": "Llama 2", "limit": {"context": 4096, "output": 1024}}}},
    "anthropic": {"options": {"timeout": 600000, "setCacheKey": true}, "models": {}},
  },
  "agent": {
    "code-reviewer": {"description": "Reviews", "mode": "subagent", "model": "anthropic/claude-sonnet-4", "prompt": "Review.", "tools": {"write": false, "edit": false}, "temperature": 0.1},
    "build": {"permission": {"bash": "allow"}, "steps": 50, "color": "#ff00ff"},
  },
  "compaction": {"auto": true, "prune": true}, "tool_output": {"max_lines": 500},
  "mcp": {"x": {"type": "local", "command": ["npx"]}}, "lsp": false, "formatter": {"prettier": {"disabled": true}},
  "command": {"test": {"template": "Run the tests"}}, "experimental": {}, "server": {"port": 4096, "hostname": "127.0.0.1", "cors": []},
}`

// TestRealisticConfiguration loads a typical configuration: no errors, warnings for unused keys only.
func TestRealisticConfiguration(t *testing.T) {
	p := newPlace(t, map[string]string{"home/.config/opencode/opencode.jsonc": realistic})
	for _, w := range p.mustLoad().Warnings {
		if w.Kind != WarnUnused {
			t.Errorf("%v", w)
		}
	}
}

func benchmarkPlace(b *testing.B) (Options, *Config) {
	b.Helper()
	env := map[string]string{"CAIRN_CONFIG_CONTENT": realistic, "CAIRN_HOME": b.TempDir()}
	o := Options{Directory: b.TempDir(), Env: func(k string) string { return env[k] }}
	var err error
	if o.Dirs, err = FindDirectories(o.Env); err != nil {
		b.Fatal(err)
	}
	c, err := Load(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	return o, c
}

func BenchmarkLoad(b *testing.B) {
	o, _ := benchmarkPlace(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFresh(b *testing.B) {
	_, c := benchmarkPlace(b)
	b.ReportAllocs()
	for b.Loop() {
		if !c.IsFresh() {
			b.Fatal("stale")
		}
	}
}
