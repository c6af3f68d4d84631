package wire_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

func TestHeld(t *testing.T) {
	const closed = `"required":["a"],"additionalProperties":false}`
	tests := []struct {
		name, schema, want string // "" is as it is
		strict             bool
	}{
		{"closed", `{"type":"object","properties":{"a":{"type":"string"}},` + closed, "", true},
		{
			"what measures is told", `{"type":"object","properties":{"a":{"type":"string","description":"A name.","minLength":2,"pattern":"^x"}},` + closed,
			`{"type":"object","properties":{"a":{"type":"string","description":"A name. (minLength: 2, pattern: \"^x\")"}},` + closed, true,
		},
		{
			"silent of what else there may be", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{}},"required":["b"]}}},"required":["a"]}`,
			`{"additionalProperties":false,"type":"object","properties":{"a":{"type":"array","items":{"additionalProperties":false,"type":"object","properties":{"b":{}},"required":["b"]}}},"required":["a"]}`, true,
		},
		{"silent, with an optional property", `{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}`, "", false},
		{"silent, with an object of anything", `{"type":"object","properties":{"a":{"type":"object"}},"required":["a"]}`, "", false},
		{"open in so many words", `{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":true}`, "", false},
		{"an optional property", `{"type":"object","properties":{"a":{},"b":{"minimum":1}},` + closed, "", false},
		{"an open object inside", `{"type":"object","properties":{"a":{"type":"object"}},` + closed, "", false},
		{"one of several", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},` + closed, "", false},
		{"a choice at the root", `{"type":"object","anyOf":[{"type":"object","properties":{"a":{}},` + closed + `],"properties":{"a":{}},` + closed, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.schema
			}
			got, strict := wire.Held(jsontext.Value(tt.schema))
			if diff := cmp.Diff(tree(t, tt.want), tree(t, string(got))); diff != "" || strict != tt.strict {
				t.Errorf("strict %v, -want +got:\n%s", strict, diff)
			}
		})
	}
}

func tree(t *testing.T, s string) any {
	t.Helper()
	v := jsontext.Value(s)
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}
