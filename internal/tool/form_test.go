package tool_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Numbers are what they say, however large they are and however they are written.
func TestFormNumbers(t *testing.T) {
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
		{"with an exponent and a fraction that is none", `{"type":"integer"}`, "1.50e2", true},
		{"with a fraction", `{"type":"integer"}`, "1.5e0", false},
		{"a large exponent", `{"type":"number"}`, "1e400", true},
		{"neighbours are different", `{"type":"array","items":{"type":"integer"},"uniqueItems":true}`, "[9007199254740992,9007199254740993]", true},
		{"the same twice", `{"type":"array","items":{"type":"integer"},"uniqueItems":true}`, "[9007199254740993,9007199254740993]", false},
		{"one of a choice", `{"anyOf":[{"type":"integer"},{"type":"string"}]}`, digits, true},
		{"a const", `{"const":9007199254740993}`, "9007199254740993", true},
		{"an enum of others", `{"enum":[1,2]}`, "1e20", false},
		{"beside a fraction", `{"type":"number","multipleOf":0.5}`, "1.5", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			form, err := tool.NewForm(jsontext.Value(`{"type":"object","properties":{"v":` + tt.schema + `},"required":["v"]}`))
			if err != nil {
				t.Fatal(err)
			}
			v, err := form.Fit(jsontext.Value(`{"v":` + tt.value + `}`))
			if (err == nil) != tt.fits {
				t.Fatalf("%.300s: %v", v, err)
			}
		})
	}
}
