package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// TestEveryKey merges two layers for every key in every spelling. Scalars and lists of the higher layer replace the
// lower ones, objects are merged member by member.
func TestEveryKey(t *testing.T) {
	tests := []struct{ key, low, high, want string }{
		{"$schema", `{"$schema": "a"}`, `{"$schema": "b"}`, `"b"`},
		{"logLevel", `{"logLevel": "DEBUG"}`, `{"logLevel": "ERROR"}`, `"ERROR"`},
		{"username", `{"username": "a"}`, `{}`, `"a"`},
		{"timezone", `{"timezone": "UTC"}`, `{"timezone": "Asia/Tokyo"}`, `"Asia/Tokyo"`},
		{"shell", `{"shell": "/bin/sh"}`, `{"shell": "/bin/zsh"}`, `"/bin/zsh"`},
		{
			"server",
			`{"server": {"port": 1, "hostname": "h", "mdns": true, "mdnsDomain": "d"}}`,
			`{"server": {"port": 2, "cors": ["c"]}}`,
			`{"port":2,"hostname":"h","mdns":true,"mdnsDomain":"d","cors":["c"]}`,
		},
		{"model", `{"model": "a/b"}`, `{"model": "a/c#high"}`, `"a/c#high"`},
		{"small_model", `{"small_model": "a/b"}`, `{}`, `"a/b"`},
		{"summaries", `{"summaries": true}`, `{}`, `true`},
		{"default_agent", `{"default_agent": "plan"}`, `{}`, `"plan"`},
		{
			"agent",
			`{"agent": {"x": {"model": "a/b", "variant": "v", "prompt": "p", "temperature": 1, "tools": {"bash": false}, ` +
				`"permission": "ask"}}}`,
			`{"agent": {"x": {"top_p": 0.5, "mode": "all", "hidden": true, "color": "#00ff00", "maxSteps": 3, "options": ` +
				`{"o": 1}, "disable": false, "other": 1}}}`,
			`{"x":{"model":"a/b","variant":"v","prompt":"p","temperature":1,"top_p":0.5,"mode":"all","hidden":true,"color":"#00ff00","steps":3,"options":{"o":1},"disable":false,"other":1}}`,
		},
		{
			"agent", `{"mode": {"x": {"prompt": "p"}}}`,
			`{"agents": {"x": {"system": "q", "disabled": true, "permissions": [], "request": {"headers": {"a": "b"}, "body": ` +
				`{"c": 1}}}}}`,
			`{"x":{"prompt":"q","mode":"primary","disable":true,"request":{"headers":{"a":"b"},"body":{"c":1}}}}`,
		},
		{
			"command", `{"command": {"c": {"template": "t", "description": "d", "agent": "a"}}}`,
			`{"commands": {"c": {"model": "a/b", "variant": "v", "subtask": true}, "d": {"template": "u"}}}`,
			`{"c":{"template":"t","description":"d","agent":"a","model":"a/b","variant":"v","subtask":true},"d":{"template":"u"}}`,
		},
		{
			"provider", `{"provider": {"p": {"name": "P", "api": "http://a", "npm": "n", "env": ["E"], "id": "i", "whitelist": ["w"], "blacklist": ["b"],
				"options": {"apiKey": "k", "baseURL": "u", "enterpriseUrl": "e", "setCacheKey": true, "timeout": 5, "headerTimeout": 6, "chunkTimeout": false, "own": 1}}}}`,
			`{"provider": {"p": {"env": ["F"], "options": {"timeout": false}}}}`,
			`{"p":{"name":"P","api":"http://a","npm":"n","env":["F"],"id":"i","whitelist":["w"],"blacklist":["b"],` +
				`"options":{"apiKey":"k","baseURL":"u","enterpriseUrl":"e","setCacheKey":true,"timeout":false,"headerTimeout":6,"chunkTimeout":false,"own":1}}}`,
		},
		{
			"provider.p.models", `{"provider": {"p": {"models": {"m": {"id": "i", "name": "n", "family": "f", "release_date": "2026-01", "attachment": true, "reasoning": true, "temperature": true,
				"tool_call": true, "interleaved": {"field": "reasoning"}, "cost": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "context_over_200k": {"input": 5, "output": 6}}}}}}}`,
			`{"provider": {"p": {"models": {"m": {"limit": {"context": 1, "input": 1, "output": 1}, "modalities": {"input": ["text", "pdf"], "output": ["text"]}, "status": "beta",
				"provider": {"npm": "n", "api": "u"}, "options": {"o": 1}, "headers": {"h": "v"}, "variants": {"v": {"disabled": true}}, "experimental": true}}}}}`,
			`{"m":{"id":"i","name":"n","family":"f","release_date":"2026-01","attachment":true,"reasoning":true,` +
				`"temperature":true,"tool_call":true,"interleaved":{"field":"reasoning"},` +
				`"cost":{"input":1,"output":2,"cache_read":3,"cache_write":4,"context_over_200k":{"input":5,"output":6}},` +
				`"limit":{"context":1,"input":1,"output":1},` +
				`"modalities":{"input":["text","pdf"],"output":["text"]},"status":"beta","provider":{"npm":"n","api":"u"},"options":{"o":1},"headers":{"h":"v"},"variants":{"v":{"disabled":true}},"experimental":true}}`,
		},
		{
			"provider",
			`{"providers": {"p": {"name": "P", "api": {"type": "aisdk", "package": "n", "url": "u", "settings": {"region": ` +
				`"r"}}, "request": {"headers": {"h": "v"}, "body": {"apiKey": "k"}}}}}`, `{}`,
			`{"p":{"name":"P","options":{"baseURL":"u","region":"r","headers":{"h":"v"},"apiKey":"k"},"npm":"n"}}`,
		},
		{
			"provider.p.models", `{"providers": {"p": {"models": {"m": {"name": "n", "api": {"id": "i", "type": "aisdk", "package": "k", "url": "u", "settings": {"s": 1}},
				"request": {"headers": {"h": "v"}, "body": {"b": 1}, "variant": "high"}, "capabilities": {"tools": true, "input": ["text"], "output": ["text"]},
				"variants": [{"id": "high", "headers": {"x": "y"}, "body": {"reasoningEffort": "high"}}], "time": {"released": 1767225600000},
				"cost": [{"input": 1, "output": 2, "cache": {"read": 3, "write": 4}}, {"tier": {"type": "context", "size": 9}, "input": 5, "output": 6, "cache": {"read": 7, "write": 8}}],
				"limit": {"context": 1, "output": 1}}}}}}`, `{}`,
			`{"m":{"name":"n","variants":{"high":{"headers":{"x":"y"},"reasoningEffort":"high"}},"cost":{"input":1,"output":2,` +
				`"cache_read":3,"cache_write":4,` +
				`"tiers":[{"tier":{"type":"context","size":9},"input":5,"output":6,"cache_read":7,"cache_write":8}]},` +
				`"limit":{"context":1,"output":1},"id":"i","provider":{"npm":"k","api":"u"},` +
				`"options":{"s":1,"b":1},"headers":{"h":"v"},"variant":"high","tool_call":true,"modalities":{"input":["text"],"output":["text"]},"release_date":"2026-01-01"}}`,
		},
		{"enabled_providers", `{"enabled_providers": ["a", "b"]}`, `{"enabled_providers": ["c"]}`, `["c"]`},
		{"disabled_providers", `{"disabled_providers": ["a"]}`, `{}`, `["a"]`},
		{
			"mcp",
			`{"mcp": {"l": {"type": "local", "command": ["x"], "cwd": ".", "environment": {"A": "b"}, "enabled": true, ` +
				`"timeout": 5}}}`, `{"mcp": {"l": {"enabled": false}}}`,
			`{"l":{"type":"local","command":["x"],"cwd":".","environment":{"A":"b"},"enabled":false,"timeout":5}}`,
		},
		{
			"mcp",
			`{"mcp": {"servers": {"r": {"type": "remote", "url": "u", "headers": {"h": "v"}, "oauth": {"clientId": "c", ` +
				`"scope": "s"}}}}}`, `{"mcp": {"r": {"oauth": false}}}`,
			`{"r":{"type":"remote","url":"u","headers":{"h":"v"},"oauth":false}}`,
		},
		{
			"plugin",
			`{"plugin": ["a", ["b", {"o": 1}]]}`,
			`{"plugins": [["b", {"o": 2}], "c"]}`,
			`["a",["b",{"o":2}],"c"]`,
		},
		{"instructions", `{"instructions": ["a", "b"]}`, `{"instructions": ["b", "c"]}`, `["a","b","c"]`},
		{
			"skills",
			`{"skills": {"paths": ["p"], "urls": ["https://u"]}}`,
			`{"skills": ["q"]}`,
			`{"paths":["q"],"urls":[]}`,
		},
		{
			"references",
			`{"reference": {"a": "./a", "g": {"repository": "r", "branch": "b"}}}`,
			`{"references": {"a": {"path": "p", "hidden": true}}}`,
			`{"a":{"path":"p","hidden":true},"g":{"repository":"r","branch":"b"}}`,
		},
		{
			"formatter",
			`{"formatter": {"p": {"disabled": true, "command": ["c"], "extensions": [".x"]}}}`,
			`{"formatter": false}`,
			`false`,
		},
		{
			"lsp",
			`{"lsp": true}`,
			`{"lsp": {"x": {"command": ["c"], "extensions": [".x"]}}}`,
			`{"x":{"command":["c"],"extensions":[".x"]}}`,
		},
		{"share", `{"autoshare": true}`, `{"share": "disabled"}`, `"disabled"`},
		{"share", `{"autoshare": true}`, `{}`, `"auto"`},
		{"snapshot", `{"snapshot": true}`, `{"snapshots": false}`, `false`},
		{"watcher", `{"watcher": {"ignore": ["a"]}}`, `{"watcher": {"ignore": ["b"]}}`, `{"ignore":["b"]}`},
		{"autoupdate", `{"autoupdate": "notify"}`, `{"autoupdate": false}`, `false`},
		{
			"compaction",
			`{"compaction": {"auto": false, "prune": true, "tail_turns": 2, "preserve_recent_tokens": 5, "reserved": 7}}`, `{}`,
			`{"auto":false,"continue":true,"prune":true,"tail_turns":2,"buffer":7,"keep":{"tokens":5}}`,
		},
		{
			"compaction",
			`{"compaction": {"auto": true, "buffer": 1, "keep": {"tokens": 2}}}`,
			`{"compaction": {"prune": true}}`,
			`{"auto":true,"continue":true,"buffer":1,"keep":{"tokens":2},"prune":true}`,
		},
		{
			"tool_output",
			`{"tool_output": {"max_lines": 5}}`,
			`{"tool_output": {"max_bytes": 6}}`,
			`{"max_lines":5,"max_bytes":6}`,
		},
		{
			"attachment", `{"attachment": {"image": {"auto_resize": false, "max_width": 1}}}`,
			`{"attachments": {"image": {"max_height": 2, "max_base64_bytes": 3}}}`,
			`{"image":{"auto_resize":false,"max_width":1,"max_height":2,"max_base64_bytes":3}}`,
		},
		{"enterprise", `{"enterprise": {"url": "https://u"}}`, `{}`, `{"url":"https://u"}`},
		{
			"experimental",
			`{"experimental": {"continue_loop_on_deny": true, "primary_tools": ["a"], "mcp_timeout": 5, "openTelemetry": ` +
				`true, "batch_tool": true, "disable_paste_summary": true}}`, `{}`,
			`{"continue_loop_on_deny":true,"primary_tools":["a"],"mcp_timeout":5,"openTelemetry":true,"batch_tool":true,"disable_paste_summary":true}`,
		},
		{
			"experimental",
			`{"experimental": {"policies": [{"action": "provider.use", "effect": "deny", "resource": "*"}]}}`,
			`{"experimental": {"policies": [{"action": "provider.use", "effect": "allow", "resource": "a"}]}}`,
			`{"policies":[{"action":"provider.use","effect":"allow","resource":"a"},{"action":"provider.use","effect":"deny","resource":"*"}]}`,
		},
		{"subagent_depth", `{"subagent_depth": 2}`, `{"subagent_depth": 0}`, `0`},
		{"layout", `{"layout": "auto"}`, `{}`, `"auto"`},
	}
	for _, tt := range tests {
		p := newPlace(t, map[string]string{userFile: tt.low})
		p.env["CAIRN_CONFIG_CONTENT"] = tt.high
		c, err := p.load()
		if err != nil {
			t.Errorf("%s: %v", tt.key, err)
			continue
		}
		n := c.root
		for _, word := range strings.Split(tt.key, ".") {
			n = n.Get(word)
		}
		if n == nil {
			t.Errorf("%s is lost", tt.key)
			continue
		}
		if diff := cmp.Diff(tt.want, string(n.AppendJSON(nil, document.Substituted))); diff != "" {
			t.Errorf("%s: %s", tt.key, diff)
		}
		for _, w := range c.Warnings {
			if w.Kind != WarnUnused {
				t.Errorf("%s: %s", tt.key, w)
			}
		}
	}
}

// A value of the wrong kind is reported with the accepted kinds.
func TestWrongKinds(t *testing.T) {
	for text, want := range map[string]string{
		`{"logLevel": "loud"}`: `1:14: logLevel: want "DEBUG", "INFO", "WARN" or "ERROR", ` +
			`got "loud"`,
		`{"share": "sometimes"}`: `1:11: share: want "manual", "auto" or "disabled", got ` +
			`"sometimes"`,
		`{"autoupdate": "never"}`: `1:16: autoupdate: want true or false or "notify", got "never"`,
		`{"autoupdate": 3}`:       `1:16: autoupdate: want true or false or "notify", got 3`,
		`{"formatter": []}`:       `1:15: formatter: want true or false or an object, got a list`,
		`{"lsp": {"x": true}}`:    `1:15: lsp.x: want an object in braces, got true or false`,
		`{"plugin": [1]}`:         `1:13: plugin: want a string or a list, got 1`,
		`{"timezone": "Mars/Base"}`: `1:14: timezone: want a time zone such as "Europe/Berlin", ` +
			`got "Mars/Base"`,
		`{"reference": {"a": 1}}`:                             `1:21: references.a: want a string or an object, got 1`,
		`{"mcp": {"a": {"type": "stdio", "command": ["x"]}}}`: `1:24: mcp.a.type: want "local" or "remote", got "stdio"`,
		`{"mcp": {"a": {"oauth": true}}}`:                     `1:25: mcp.a.oauth: want false or an object, got true`,
		`{"experimental": {"policies": [{"effect": "ask"}]}}`: `1:43: experimental.policies.effect: want "allow" or ` +
			`"deny", got "ask"`,
		`{"provider": {"p": {"models": {"m": {"limit": {"context": "` + strings.Repeat("9", 50) +
			`"}}}}}}`: `1:59: provider.p.models.m.limit.context: want a whole number, 0 or more, got "` +
			strings.Repeat("9", 39) + `…"`,
		`{"provider": {"p": {"models": {"m": {"status": "new"}}}}}`:                              `1:48: provider.p.models.m.status: want "alpha", "beta", "deprecated" or "active", got "new"`,
		`{"provider": {"p": {"models": {"m": {"modalities": {"input": ["smell"]}}}}}}`:           `1:63: provider.p.models.m.modalities.input: want "text", "audio", "image", "video" or "pdf", got "smell"`,
		`{"provider": {"p": {"models": {"m": {"limit": {"context": 1.5}}}}}}`:                    `1:59: provider.p.models.m.limit.context: want a whole number, 0 or more, got 1.5`,
		`{"provider": {"p": {"models": {"m": {"cost": {"output": -1}}}}}}`:                       `1:57: provider.p.models.m.cost.output: want a price, 0 or more, got -1`,
		`{"provider": {"p": {"models": {"m": {"cost": {"tiers": [{"tier": {"size": "x"}}]}}}}}}`: `1:75: provider.p.models.m.cost.tiers.tier.size: want a whole number, 0 or more, got "x"`,
		`{"provider": {"p": {"models": {"m": {"structured_output": "yes"}}}}}`:                   `1:59: provider.p.models.m.structured_output: want true or false, got "yes"`,
		`{"provider": {"p": {"models": {"m": {"variants": {"v": {"headers": 1}}}}}}}`:            `1:68: provider.p.models.m.variants.v.headers: want an object, got 1`,
		`{"model": "{env:SECRET}"}`: `1:11: model: names no provider: want "provider/model", such as "openai/gpt-5"; ` +
			`cairn models lists them`,
	} {
		p := newPlace(t, map[string]string{userFile: text})
		p.env["SECRET"] = "canary"
		c, err := p.load()
		var got string
		if err != nil {
			got = p.short(err.Error())
		} else {
			got = p.leftOut(c)
		}
		if strings.TrimPrefix(got, userFile+":") != want {
			t.Errorf("%s\n got %v\nwant %s", text, got, want)
		}
	}
}

// Open objects report keys that look like a misspelling.
func TestMisspelledProviderKeys(t *testing.T) {
	p := newPlace(
		t,
		map[string]string{
			userFile: `{"provider": {"p": {"baseurl": "u", "wihtelist": [], "options": {"baseUrl": "u", "api_key": "k", "region": "r", "foo": 1},
  "models": {"m": {"limits": {}, "tool_cal": true, "knowledge": "x", "bar": 1}}}}}`,
		},
	)
	want := []string{
		"unknown " + userFile + ":1:37 provider.p.wihtelist",
		"unknown " + userFile + ":1:66 provider.p.options.baseUrl",
		"unknown " + userFile + ":1:82 provider.p.options.api_key",
		"unknown " + userFile + ":2:20 provider.p.models.m.limits",
		"unknown " + userFile + ":2:34 provider.p.models.m.tool_cal",
	}
	if diff := cmp.Diff(want, p.warnings(p.mustLoad())); diff != "" {
		t.Error(diff)
	}
}

func TestPolicies(t *testing.T) {
	say := func(effect, resource string) string {
		return `{"experimental": {"policies": [{"action": "provider.use", "effect": "` + effect + `", "resource": "` +
			resource + `"}]}}`
	}
	p := newPlace(
		t,
		map[string]string{
			userFile:          say("deny", "a"),
			"repo/cairn.json": say("allow", "a"),
			"etc/cairn.json":  say("allow", "c"),
		},
	)
	p.env["CAIRN_CONFIG_CONTENT"] = say("deny", "c")
	p.word = p.mustLoad().Claim.Hash() // a project's statements wait for trust, and lift nothing of the user's with it
	c := p.mustLoad()
	same := func(pattern, id string) bool { return pattern == id }
	if x := c.Experimental; len(x.Policies) != 4 || x.AllowsProvider("a", same) || !x.AllowsProvider("b", same) ||
		!x.AllowsProvider("c", same) {
		t.Errorf("got %+v", x.Policies)
	}
}

func TestModelVariant(t *testing.T) {
	for name, want := range map[ModelName]string{
		"a/b": "a/b ", "a/b/c#high": "a/b/c high", "a/#x": "a/#x ",
		"a/b#": "a/b# ",
	} {
		ref := name.Ref()
		if got := ref.String() + " " + ref.Variant; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
