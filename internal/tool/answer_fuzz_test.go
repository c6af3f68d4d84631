package tool_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Validation ends for every schema and answer.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(
		`{"type":"object","properties":{"v":{"anyOf":[{"type":"integer","maximum":1e400},{"$ref":"#/$defs/a"}]}},"$defs":{"a":{"$anchor":"b","items":{"$ref":"#b"}}}}`,
		`{"v":[[]]}`,
	)
	f.Add(
		`{"$id":"https://example.org/s","allOf":[{"if":{"$dynamicRef":"#a"},"then":{"$ref":"s#/allOf/0"}}],"$dynamicAnchor":"a"}`,
		`{"v":1e20}`,
	)
	f.Add(
		`{"dependentSchemas":{"v":{"$ref":"#"}},"unevaluatedProperties":{"$ref":"#"},"enum":[{"v":1}]}`,
		`{"v":12345678901234567890}`,
	)
	f.Fuzz(func(_ *testing.T, schema, answer string) {
		form, err := tool.NewAnswerSchema(jsontext.Value(schema))
		if err == nil {
			_, _ = form.Validate(jsontext.Value(answer)) // only that it returns counts
		}
	})
}
