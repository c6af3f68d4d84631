package provider_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// TestDeclareHosted: each hosted tool of the vendor is declared once; others are refused.
func TestDeclareHosted(t *testing.T) {
	tests := []struct {
		vendor, pkg, wanted, want string // want is of the declarations, or of the error
	}{
		{"openai", "@ai-sdk/openai", `"web_search" "web_search"`, `{"type":"web_search"}`},
		{
			"openai", "@ai-sdk/openai", `"x_search"`,
			`provider "openai" has no hosted tool "x_search"; use code_execution, image_generation, web_search`,
		},
		{"xai", "@ai-sdk/openai", `"x_search" "code_execution"`, `{"type":"code_interpreter"} {"type":"x_search"}`},
		{
			"openai", "@ai-sdk/openai", `{"type":"mcp","server_label":"a"} {"type":"mcp","server_label":"b"}`,
			`{"type":"mcp","server_label":"a"} {"type":"mcp","server_label":"b"}`,
		},
	}
	for _, tt := range tests {
		v, _ := provider.Find(tt.vendor)
		v.Wire, _ = v.SelectWire(tt.pkg, "m")
		var wanted []jsontext.Value
		for one := range strings.FieldsSeq(tt.wanted) {
			wanted = append(wanted, jsontext.Value(one))
		}
		var got []string
		defs, err := v.DeclareHosted(wanted)
		for _, def := range defs {
			got = append(got, string(def.Hosted))
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if said := strings.Join(got, " "); !strings.HasPrefix(said, tt.want) || err == nil && said != tt.want {
			t.Errorf("%s %s: %s", tt.vendor, tt.wanted, said)
		}
	}
}
