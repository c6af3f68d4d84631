package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestOlderFileIsUpgraded reads a file of version 1: the sandbox's switch counts as its mode, and a warning says so.
func TestOlderFileIsUpgraded(t *testing.T) {
	p := newPlace(t, map[string]string{userFile: "{\n  \"sandbox\": {\"enabled\": true, \"network\": true}\n}"})
	c := p.mustLoad()
	if c.Sandbox.Mode != SandboxMode(session.SandboxStrict) || !c.Sandbox.Network {
		t.Errorf("sandbox is %+v, want strict with network", c.Sandbox)
	}
	want := []string{"older " + userFile + ":2:26 sandbox.enabled"}
	if got := p.warnings(c); !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

// TestExplainVersion lists the version of each file that says one.
func TestExplainVersion(t *testing.T) {
	p := newPlace(t, map[string]string{
		userFile: `{"version": 1}`, "repo/cairn.json": `{"model": "a/b"}`, "repo/sub/cairn.json": `{"version": 2}`,
		"repo/opencode.json": `{"version": 7}`,
	})
	var got []string
	for _, o := range p.mustLoad().Explain("version") {
		got = append(got, p.short(o.Source.String())+" "+string(o.Value))
	}
	want := []string{userFile + ":1:13 1", "repo/sub/cairn.json:1:13 2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFileOfANewerCairn checks that such a file stops the configuration in words, in every place from which cairn reads
// its own files, and that the files of OpenCode have no version.
func TestFileOfANewerCairn(t *testing.T) {
	const newer = `{"version": 99, "model": "a/b"}`
	for _, name := range []string{userFile, "repo/cairn.json", "repo/sub/.cairn/cairn.jsonc", "etc/cairn.json"} {
		p := newPlace(t, map[string]string{name: newer})
		_, err := p.load()
		want := name + ":1:13: version: the file was written for a newer cairn: version 99, this one knows up to 2; update cairn"
		if err == nil || p.short(err.Error()) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		// To show all errors, the other files are read.
		p.all = true
		p.write("repo/sub/cairn.json", `{"model": "c/d"}`)
		if c := p.mustLoad(); len(c.Errors) != 1 || c.Model != "c/d" {
			t.Errorf("%s: errors %v, model %q", name, c.Errors, c.Model)
		}
	}
	p := newPlace(t, map[string]string{"repo/opencode.json": newer})
	if c := p.mustLoad(); c.Model != "a/b" {
		t.Errorf("model %q, want that of opencode.json", c.Model)
	}
}

// TestEditsKeepTheVersion checks which version a file has after an edit: a new file the current one, others their own. A
// file that cannot be read as its version stays as it is.
func TestEditsKeepTheVersion(t *testing.T) {
	for _, tt := range []struct{ name, before, key, value, after, err string }{
		{"new", "", "model", `"a/b"`, "{\n  \"version\": 2,\n  \"model\": \"a/b\"\n}\n", ""},
		{"older", `{"sandbox": {"enabled": true}}`, "model", `"a/b"`, `{"sandbox": {"enabled": true}, "model": "a/b"}`, ""},
		{"current", `{"version": 2}`, "model", `"a/b"`, `{"version": 2, "model": "a/b"}`, ""},
		{"raised", `{"model": "a/b"}`, "version", `2`, `{"model": "a/b", "version": 2}`, ""},
		{"newer", `{"version": 3}`, "model", `"a/b"`, "", "written for a newer cairn"},
		{"raised too far", `{}`, "version", `3`, "", "written for a newer cairn"},
		{"raised with an older key", `{"sandbox": {"enabled": true}}`, "version", `2`, "", "sandbox.enabled: is a key of version 1"},
		{"an older key in a current file", `{"version": 2}`, "sandbox.enabled", `true`, "", "sandbox.enabled: is a key of version 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, nil)
			c := p.mustLoad()
			if tt.before != "" {
				p.write(userFile, tt.before)
			}
			_, err := c.ChangeValue(t.Context(), false, tt.key, []jsontext.Value{jsontext.Value(tt.value)})
			got, _ := os.ReadFile(filepath.Join(p.root, userFile))
			switch {
			case tt.err == "" && (err != nil || string(got) != tt.after):
				t.Errorf("%v, the file is now %q, want %q", err, got, tt.after)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || string(got) != tt.before):
				t.Errorf("error %v, want %q; the file is now %q", err, tt.err, got)
			}
		})
	}
}
