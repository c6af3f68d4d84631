package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

func TestEdit(t *testing.T) {
	tests := []struct{ name, text, key, value, want string }{
		{"an empty file", "", "model", `"a/b"`, "{\n  \"version\": 2,\n  \"model\": \"a/b\"\n}\n"},
		{"only a comment", "// mine\n", "snapshot", `false`, "// mine\n{\n  \"version\": 2,\n  \"snapshot\": false\n}\n"},
		{
			"a value that is there",
			"{\n  // why\n  \"model\": \"a/b\", // note\n  \"shell\": \"x\"\n}\n",
			"model",
			`"c/d"`,
			"{\n  // why\n  \"model\": \"c/d\", // note\n  \"shell\": \"x\"\n}\n",
		},
		{
			"a new one behind a comment",
			"{\n\t\"shell\": \"x\" // note\n}\n",
			"model",
			`"c/d"`,
			"{\n\t\"shell\": \"x\", // note\n\t\"model\": \"c/d\"\n}\n",
		},
		{
			"a trailing comma",
			"{\n  \"shell\": \"x\",\n}\n",
			"model",
			`"c/d"`,
			"{\n  \"shell\": \"x\",\n  \"model\": \"c/d\",\n}\n",
		},
		{"on one line", `{"shell": "x"}`, "model", `"c/d"`, `{"shell": "x", "model": "c/d"}`},
		{
			"objects on the way",
			"{\n  \"zzz\": 1 /* unknown */\n}\n",
			"agent.plan.steps",
			`3`,
			"{\n  \"zzz\": 1, /* unknown */\n  \"agent\": {\n    \"plan\": {\n      \"steps\": 3\n    }\n  }\n}\n",
		},
		{
			"the file's own spelling",
			`{"agents": {"plan": {}}}`,
			"agent.build.steps",
			`3`,
			`{"agents": {"plan": {}, "build": {"steps": 3}}}`,
		},
		{
			"names with dots",
			`{"provider": {"p": {"models": {"m.1": {}}}}}`,
			"provider.p.models.m.1.name",
			`"M"`,
			`{"provider": {"p": {"models": {"m.1": {"name": "M"}}}}}`,
		},
		{
			"a quoted name",
			`{"x": {"a": 1}}`,
			`permission.bash."git diff *.go"`,
			`"ask"`,
			`{"x": {"a": 1}, "permission": {"bash": {"git diff *.go": "ask"}}}`,
		},
		{
			"the last removed",
			"{\n  \"a\": 1, // one\n  \"model\": \"a/b\", // two\n}\n",
			"model",
			``,
			"{\n  \"a\": 1, // one\n}\n",
		},
		{"the only one removed", "{\n  // why\n  \"model\": \"a/b\"\n}\n", "model", ``, "{\n}\n"},
		{"the first removed on a line", `{"model": "a/b", "c": 2}`, "model", ``, `{"c": 2}`},
		{"the last removed on a line", `{"c": {"d": 2, "model": "a/b"}}`, "c.model", ``, `{"c": {"d": 2}}`},
		{
			"removed, with the comments about it",
			"{\n  \"a\": 1,\n  // why\n  \"model\": \"a/b\", // note\n  \"c\": 2\n}\n",
			"model",
			``,
			"{\n  \"a\": 1,\n  \"c\": 2\n}\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var value jsontext.Value
			if tt.value != "" {
				value = jsontext.Value(tt.value)
			}
			got, err := Edit("cairn.json", []byte(tt.text), tt.key, value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	for _, tt := range []struct{ text, key, value, want string }{
		{"{\n}", "model", `5`, "cairn.json:2:12: model: want a string, got 5"},
		{`{"model": "a/b"}`, "model.x", `5`, "model.x: its parent is not an object"},
		{
			`{"a": `, "model", `"a/b"`,
			"cairn.json:1:7: invalid JSON (comments and trailing commas are allowed): unexpected end of file",
		},
		{"{\n}", "username", `5`, "cairn.json:2:15: username: want a string, got a number"},
		{`{}`, "a..b", `1`, "the key has an empty part"},
		{`{}`, `a."b`, `1`, "a quote in the key is not closed"},
		{`{}`, "model", ``, "model: not set in this file"},
		{
			"{}", "provider.a.options", `{"apiKey": "(hidden)"}`,
			`provider.a.options: "(hidden)" stands for a secret in what cairn shows; give the secret, or leave it out`,
		},
		{
			"{\n}", "permission.bash", `"maybe"`,
			`cairn.json:3:13: permission.bash: want "allow", "ask" or "deny", got "maybe"`,
		},
	} {
		var value jsontext.Value
		if tt.value != "" {
			value = jsontext.Value(tt.value)
		}
		if _, err := Edit("cairn.json", []byte(tt.text), tt.key, value); err == nil || err.Error() != tt.want {
			t.Errorf("%s %s: %v, want %s", tt.text, tt.key, err, tt.want)
		}
	}
}

// FuzzEdit: an edited file loads, has the new value, and keeps everything else.
func FuzzEdit(f *testing.F) {
	f.Add(`{"model": "a/b", /* c */ "x": {"y": [1,]},}`, "x.z")
	f.Add("// c\n{\n  \"agents\": {\"a\": {}} // d\n}", "agent.b.prompt")
	f.Add("", "snapshot")
	f.Add(`{"":1}`, `"a.b".c`)
	f.Fuzz(func(t *testing.T, text, key string) {
		out, err := Edit("f", []byte(text), key, jsontext.Value(`"v"`))
		if err != nil {
			return
		}
		for _, comment := range []string{"/* c */", "// c", "// d"} {
			if strings.Count(text, comment) > strings.Count(string(out), comment) {
				t.Errorf("%q lost a comment: %q", text, out)
			}
		}
		again, err := Edit("f", out, key, jsontext.Value(`"v"`))
		if err != nil || string(again) != string(out) {
			t.Errorf("%q again: %q, %v", out, again, err)
		}
		without, err := Edit("f", out, key, nil)
		if err != nil {
			t.Fatalf("%q cannot be removed from %q: %v", key, out, err)
		}
		if _, err := Edit("f", without, key, nil); err == nil {
			t.Errorf("%q is still in %q", key, without)
		}
	})
}

func published(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	want, err := BuildSchema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(got)) != string(want) {
		t.Error("docs/config.schema.json is not current: go generate ./internal/location/config")
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(want, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSchema(t *testing.T) {
	r := published(t)
	check := func(text string) error {
		d := &document.Document{Name: "t", Text: []byte(text)}
		if err := d.Parse(); err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(d.Root.AppendJSON(nil, document.AsWritten), &v); err != nil {
			t.Fatal(err)
		}
		return r.Validate(v)
	}
	for _, text := range []string{
		string(defaults), realistic, `{}`, `{"permission": "ask", "tools": {"x": true}}`,
		`{"agents": {"a": {"system": "p", "temperature": 1, "anything": 1, "permissions": [{"action": "edit", "effect": ` +
			`"deny"}]}}}`,
		`{"compaction": {"reserved": 1}, "mode": {"x": {"maxSteps": 1}}, "timeouts": {"turn": false, "connect": "1s"}}`,
		`{"mcp": {"servers": {"a": {"url": "u"}}}, "skills": ["a"], "lsp": false, "formatter": {"x": {}}}`,
		`{"version": 1, "sandbox": {"enabled": true}}`, `{"version": 2, "sandbox": {"mode": "strict"}}`,
	} {
		if err := check(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		`{"modle": "a/b"}`, `{"model": "a"}`, `{"snapshot": 1}`, `{"permission": {"bash": "maybe"}}`,
		`{"agent": {"a": {"steps": 0}}}`,
		`{"compaction": {"auot": true}}`, `{"limits": {"tools": -1}}`, `{"permissions": [{"action": "x"}]}`,
		`{"agent": {"a": {"color": "red"}}}`, `{"version": 0}`, `{"version": "2"}`, `{"version": 1000}`,
	} {
		if check(text) == nil {
			t.Errorf("%s fits the schema", text)
		}
	}
}

// A merge without changes writes no file.
func TestMergeWithoutChanges(t *testing.T) {
	dir := t.TempDir()
	c := &Config{Dirs: Directories{Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state")}}
	err := c.MergeUser(t.Context(), map[string]jsontext.Value{"shell": jsontext.Value("null")})
	if _, missing := os.Stat(filepath.Join(dir, "config", "cairn.json")); err != nil || !os.IsNotExist(missing) {
		t.Error(err, missing)
	}
}
