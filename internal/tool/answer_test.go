package tool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Numbers of any size and notation are compared by value.
func TestAnswerNumbers(t *testing.T) {
	digits := strings.Repeat("9", 400)
	tests := []struct {
		name, schema, value string
		fits                bool
	}{
		{"more than 64 bits", `{"type":"integer"}`, "123456789012345678901234567890", true},
		{"more than a float", `{"type":"integer"}`, digits, true},
		{"less than a negative float", `{"type":"number","maximum":0}`, "-" + digits, true},
		{"beyond its maximum", `{"type":"integer","maximum":10}`, digits, false},
		{"with an exponent", `{"type":"integer"}`, "1e20", true},
		{"with an exponent and a fraction of zero", `{"type":"integer"}`, "1.50e2", true},
		{"with a fraction", `{"type":"integer"}`, "1.5e0", false},
		{"a large exponent", `{"type":"number"}`, "1e400", true},
		{
			"neighbours are different", `{"type":"array","items":{"type":"integer"},"uniqueItems":true}`,
			"[9007199254740992,9007199254740993]", true,
		},
		{
			"the same twice", `{"type":"array","items":{"type":"integer"},"uniqueItems":true}`,
			"[9007199254740993,9007199254740993]", false,
		},
		{"one of a choice", `{"anyOf":[{"type":"integer"},{"type":"string"}]}`, digits, true},
		{"a const", `{"const":9007199254740993}`, "9007199254740993", true},
		{"an enum of others", `{"enum":[1,2]}`, "1e20", false},
		{"beside a fraction", `{"type":"number","multipleOf":0.5}`, "1.5", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			form, err := tool.NewAnswerSchema(
				jsontext.Value(`{"type":"object","properties":{"v":` + tt.schema + `},"required":["v"]}`),
			)
			if err != nil {
				t.Fatal(err)
			}
			v, err := form.Validate(jsontext.Value(`{"v":` + tt.value + `}`))
			if (err == nil) != tt.fits {
				t.Fatalf("%.300s: %v", v, err)
			}
		})
	}
}

// A pattern that Go does not support is not checked; the rest of the schema is. An invalid pattern is refused.
func TestAnswerPatterns(t *testing.T) {
	const decimal = `^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$`
	tests := []struct {
		name, schema, value string
		ok, fits            bool
	}{
		{"looks ahead", `{"type":"string","pattern":"` + decimal + `"}`, `"1.5"`, true, true},
		{"and has another type", `{"type":"string","pattern":"` + decimal + `"}`, `[]`, true, false},
		{"in a choice", `{"anyOf":[{"type":"string","pattern":"(?=a)"},{"type":"null"}]}`, `null`, true, true},
		{"refers back", `{"type":"string","pattern":"(a)\\1"}`, `"aa"`, true, true},
		{
			"of a name", `{"type":"object","patternProperties":{"^(?!x)":{"type":"integer"}},"additionalProperties":false}`,
			`{"y":1}`, true, true,
		},
		{"one that Go reads", `{"type":"string","pattern":"^a"}`, `"b"`, true, false},
		{"broken", `{"type":"string","pattern":"(("}`, `"b"`, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			form, err := tool.NewAnswerSchema(
				jsontext.Value(`{"type":"object","properties":{"v":` + tt.schema + `},"required":["v"]}`),
			)
			if (err == nil) != tt.ok {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if v, err := form.Validate(jsontext.Value(`{"v":` + tt.value + `}`)); (err == nil) != tt.fits {
				t.Errorf("%s: %v", v, err)
			}
		})
	}
}

// A string in an answer is converted to the enum value that it stands for.
func TestAnswerEnums(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{`{"const":5}`, `"5"`, `5`},
		{`{"enum":[1,"x",null]}`, `"1"`, `1`},
		{`{"enum":[1,"x",null]}`, `"x"`, `"x"`},
		{`{"enum":[1,"1"]}`, `"1"`, `"1"`},
		{`{"enum":[true,2]}`, `"true"`, `true`},
		{`{"enum":[1,2]}`, `"3"`, ``},
		{`{"enum":[1,"x",null]}`, `"null"`, `null`},
	} {
		form, err := tool.NewAnswerSchema(
			jsontext.Value(`{"type":"object","properties":{"v":` + tt.schema + `},"required":["v"]}`),
		)
		if err != nil {
			t.Fatal(err)
		}
		v, err := form.Validate(jsontext.Value(`{"v":` + tt.value + `}`))
		if tt.want == "" && err == nil || tt.want != "" && string(v) != `{"v":`+tt.want+`}` {
			t.Errorf("%s of %s: %s, %v", tt.value, tt.schema, v, err)
		}
	}
}

// A schema that refers to itself for the same value is refused; one that recurses into the value is not.
func TestAnswerRecursion(t *testing.T) {
	many := `{"type":"object","$defs":{"a0":{}`
	for i := range 40 {
		many += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i+1, i, i)
	}
	many += `},"$ref":"#/$defs/a40"}`
	tests := []struct {
		name, schema string
		ok           bool
	}{
		{"itself", `{"$ref":"#"}`, false},
		{
			"itself by a pointer",
			`{"type":"object","properties":{"v":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`, false,
		},
		{
			"each other",
			`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"object"},{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`,
			false,
		},
		{"by an anchor", `{"$anchor":"a","allOf":[{"$ref":"#a"}]}`, false},
		{"by an identity", `{"$id":"https://example.org/s","if":{"$ref":"https://example.org/s"}}`, false},
		{"inside a resource of its own", `{"properties":{"v":{"$id":"https://example.org/v","$ref":"#"}}}`, false},
		{"too many", many, false},
		{"down with the value", `{"properties":{"v":{"$ref":"#"}}}`, true},
		{"down in a choice", `{"properties":{"v":{"anyOf":[{"type":"null"},{"$ref":"#"}]}}}`, true},
		{
			"a resource of its own", `{"properties":{"v":{"$id":"https://example.org/v","properties":{"w":{"$ref":"#"}}}}}`,
			true,
		},
		{"a default that looks like it", `{"default":{"$ref":"#"},"properties":{"$ref":{"type":"string"}}}`, true},
		{
			"often the same",
			`{"properties":{"v":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"$defs":{"a":{"type":"object"}}}`, true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			form, err := tool.NewAnswerSchema(jsontext.Value(tt.schema))
			if (err == nil) != tt.ok {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if _, err := form.Validate(jsontext.Value(`{"v":{"v":{}}}`)); err != nil {
				t.Error(err)
			}
		})
	}
}
