package llm_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/llm"
)

func TestResolveRef(t *testing.T) {
	var root llm.Schema
	if err := json.Unmarshal(
		[]byte(
			`{"title":"root","$defs":{"a/b":{"title":"slash"},"c~d":{"title":"tilde"},"e f":{"title":"space"}},`+
				`"prefixItems":[true,{"title":"second"}]}`,
		),
		&root,
	); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"#": `"root"`, "#/$defs/a~1b": `"slash"`, "#/$defs/c~0d": `"tilde"`, "#/$defs/e%20f": `"space"`,
		"#/prefixItems/1": `"second"`,
		"#/prefixItems/0": "", "#/prefixItems/2": "", "#/title": "", "#/nothing": "", "#anchor": "", "other#": "", "": "",
		"/$defs/c~0d": "",
	} {
		s, ok := llm.ResolveRef(root, ref)
		if ok != (want != "") || string(s["title"]) != want {
			t.Errorf("%q: %v %v", ref, s, ok)
		}
	}
}
