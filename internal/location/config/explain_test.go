package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each item of a merged list, and each member of a merged object, has its own origin.
func TestExplainMergedValues(t *testing.T) {
	p := newPlace(t, map[string]string{
		userFile: `{"instructions": ["a", "b"], "plugin": ["x"], "watcher": {"ignore": ["i"]}, "compaction": ` +
			`{"auto": false, "buffer": 1}}`,
		"repo/cairn.json": `{"instructions": ["b", "c"], "compaction": {"buffer": 2}}`,
	})
	p.env["CAIRN_CONFIG_CONTENT"] = `{"watcher": {"ignore": ["j", "k"]}}`
	c := p.mustLoad()
	for key, want := range map[string][]string{
		"instructions": {`"a" ` + userFile + `:1:19`, `"b" repo/cairn.json:1:19`, `"c" repo/cairn.json:1:24`},
		"plugin":       {`["x"] ` + userFile + `:1:40`},
		"watcher":      {`["j","k"] CAIRN_CONFIG_CONTENT:1:24 < ["i"] ` + userFile + `:1:69`},
		"compaction": {
			`false ` + userFile + `:1:100 < true default`, `true default`,
			`2 repo/cairn.json:1:55 < 1 ` + userFile + `:1:117`,
		},
	} {
		var got []string
		for _, o := range c.Explain(key) {
			line := string(o.Value) + " " + p.short(o.Source.String())
			for _, b := range o.Overrode {
				line += " < " + string(b.Value) + " " + p.short(b.Source.String())
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}
