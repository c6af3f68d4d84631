package wire_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

func TestStrictSchema(t *testing.T) {
	const closed = `"required":["a"],"additionalProperties":false}`
	tests := []struct {
		name, schema, want string // "" is as it is
		strict             bool
	}{
		{"closed", `{"type":"object","properties":{"a":{"type":"string"}},` + closed, "", true},
		{
			"limits become descriptions",
			`{"type":"object","properties":{"a":{"type":"string","description":"A name.","minLength":2,"pattern":"^x"}},` +
				closed,
			`{"type":"object","properties":{"a":{"type":"string","description":"A name. (minLength: 2, pattern: \"^x\")"}},` +
				closed, true,
		},
		{
			"no additionalProperties",
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"null"}},` +
				`"required":["b"]}}},"required":["a"]}`,
			`{"additionalProperties":false,"type":"object","properties":{"a":{"type":"array",` +
				`"items":{"additionalProperties":false,"type":"object","properties":{"b":{"type":"null"}},"required":["b"]}}},` +
				`"required":["a"]}`, true,
		},
		{"what may be null", of(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), "", true},
		{"a type or null", of(`{"type":["null","string"]}`), of(`{"type":["string","null"]}`), true},
		{"an enum without a type", of(`{"enum":["x","y"]}`), of(`{"type":"string","enum":["x","y"]}`), true},
		{
			"an enum of several types", of(`{"enum":[1,"x",null,2.5]}`),
			of(`{"anyOf":[{"type":"number","enum":[1,2.5]},{"type":"string","enum":["x"]},{"type":"null"}]}`), true,
		},
		{"a const", of(`{"const":"k","title":"K"}`), of(`{"type":"string","enum":["k"],"title":"K"}`), true},
		{
			"an enum with what its type forbids", of(`{"type":"string","enum":["x",1,"x"]}`),
			of(`{"type":"string","enum":["x"]}`), true,
		},
		{"an enum of objects", of(`{"enum":[{}]}`), "", false},
		{"anything", of(`{}`), "", false},
		{"anything, in a word", of(`true`), "", false},
		{"an array of anything", of(`{"type":"array"}`), "", false},
		{
			"several types", of(`{"type":["array","integer"],"items":{"type":"string"}}`),
			of(`{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"integer"}]}`), true,
		},
		{"a reference with a description", of(`{"$ref":"#","description":"d"}`), of(`{"$ref":"#"}`), true},
		{"a reference in allOf", of(`{"allOf":[{"$ref":"#"}],"default":1}`), of(`{"$ref":"#"}`), true},
		{"a reference with more", of(`{"$ref":"#","type":"object"}`), "", false},
		{"a reference into a property", of(`{"$ref":"#/properties/a"}`), "", false},
		{"remarks", of(`{"type":"string","examples":["x"],"deprecated":true,"x-order":1}`), of(`{"type":"string"}`), true},
		{"ten levels", nested(9), "", true},
		{"eleven levels", nested(10), "", false},
		{"a thousand values", of(enum(1000, "v")), "", true},
		{"more", of(enum(1001, "v")), "", false},
		{"many long values", of(enum(251, strings.Repeat("v", 80))), "", false},
		{"few long values", of(enum(250, strings.Repeat("v", 80))), "", true},
		{"silent, with an optional property", `{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}`, "", false},
		{
			"silent, with an object of anything", `{"type":"object","properties":{"a":{"type":"object"}},"required":["a"]}`, "",
			false,
		},
		{
			"explicitly open", `{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":true}`, "",
			false,
		},
		{"an optional property", `{"type":"object","properties":{"a":{},"b":{"minimum":1}},` + closed, "", false},
		{"an open object inside", `{"type":"object","properties":{"a":{"type":"object"}},` + closed, "", false},
		{"one of several", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},` + closed, "", false},
		{
			"a choice at the root",
			`{"type":"object","anyOf":[{"type":"object","properties":{"a":{}},` + closed + `],"properties":{"a":{}},` + closed,
			"", false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.schema
			}
			got, strict := wire.StrictSchema(jsontext.Value(tt.schema))
			if diff := cmp.Diff(tree(t, tt.want), tree(t, string(got))); diff != "" || strict != tt.strict {
				t.Errorf("strict %v, -want +got:\n%s", strict, diff)
			}
		})
	}
}

// of returns an object with one member of that schema.
func of(schema string) string {
	return `{"type":"object","properties":{"a":` + schema + `},"required":["a"],"additionalProperties":false}`
}

func nested(more int) string {
	s := `{"type":"string"}`
	for range more {
		s = of(s)
	}
	return of(s)
}

func enum(n int, word string) string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%q", word+strconv.Itoa(i))
	}
	return `{"type":"string","enum":[` + strings.Join(values, ",") + `]}`
}

// TestIsCyclic: cycles are found, and whether an answer can avoid them.
func TestIsCyclic(t *testing.T) {
	tests := []struct {
		name, schema       string
		cyclic, inRequired bool
	}{
		{"none", of(`{"$ref":"#/$defs/a"}`), false, false},
		{"itself", of(`{"type":"array","items":{"$ref":"#"}}`), true, true},
		{"itself, optional", `{"properties":{"a":{"$ref":"#"}}}`, true, false},
		{"nullable", of(`{"anyOf":[{"$ref":"#"},{"type":"null"}]}`), true, true},
		{
			"each other",
			`{"required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/b"}},` +
				`"b":{"not":{"$ref":"#/$defs/a"}}}}`,
			true, true,
		},
		{
			"each other, optional",
			`{"required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/b"}},` +
				`"b":{"properties":{"c":{"$ref":"#/$defs/a"}}}}}`,
			true, false,
		},
		{
			"twice the same",
			`{"required":["a","b"],"properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/a"}},` +
				`"$defs":{"a":{"type":"string"}}}`,
			false, false,
		},
		{"not in use", `{"$defs":{"a":{"$ref":"#/$defs/a"}}}`, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, ok := wire.ReadObject(jsontext.Value(tt.schema))
			if cyclic, inRequired := wire.IsCyclic(root, false), wire.IsCyclic(root, true); !ok || cyclic != tt.cyclic ||
				inRequired != tt.inRequired {
				t.Errorf("%v, in what is required %v", cyclic, inRequired)
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
