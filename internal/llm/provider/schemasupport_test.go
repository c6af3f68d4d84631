package provider_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// TestSupportsSchema: a schema that a vendor would refuse is not sent to it.
func TestSupportsSchema(t *testing.T) {
	const kids = `{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}}`
	tests := []struct {
		vendor, pkg, model, schema string
		want                       bool
	}{
		{
			"google", "@ai-sdk/google", "gemini-3-pro",
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/a","title":"A"}},"$defs":{"a":{"type":"string"}}}`, true,
		},
		{"google", "@ai-sdk/google", "gemini-3-pro", kids + `}`, true},
		{"google", "@ai-sdk/google", "gemini-3-pro", kids + `,"required":["kids"]}`, false},
		{
			"google", "@ai-sdk/google", "gemini-3-pro",
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/a","type":"string"}},"$defs":{"a":{}}}`, false,
		},
		{"google", "@ai-sdk/google", "gemini-3-pro", `{"type":"object","properties":{"a":{"$ref":"#anchor"}}}`, false},
		{"openai", "@ai-sdk/openai", "gpt-5", kids + `,"required":["kids"]}`, true},
	}
	for _, tt := range tests {
		v, _ := provider.Find(tt.vendor)
		v.Wire, _ = v.SelectWire(tt.pkg, tt.model)
		m, err := provider.New(provider.Config{Vendor: v, Key: secret, Facts: provider.Facts{ModelID: tt.model}})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.SupportsSchema(jsontext.Value(tt.schema)); got != tt.want {
			t.Errorf("%s %s: %v", tt.model, tt.schema, got)
		}
	}
}

func TestSchemaSupport(t *testing.T) {
	yes, no := new(true), new(false)
	tests := []struct {
		vendor, pkg, model string
		structured         *bool
		want               llm.SchemaSupport
	}{
		{"openai", "@ai-sdk/openai", "gpt-5", yes, llm.SchemaSupported},
		{"openai", "@ai-sdk/openai", "gpt-5", nil, llm.SchemaUnsupported},
		{"openai", "@ai-sdk/openai-compatible", "gpt-4o", yes, llm.SchemaSupported},
		{"anthropic", "@ai-sdk/anthropic", "claude-sonnet-4-5", nil, llm.SchemaSupported},
		{"anthropic", "@ai-sdk/anthropic", "claude-sonnet-4-5", no, llm.SchemaUnsupported},
		{"anthropic", "@ai-sdk/anthropic", "claude-3-5-haiku", nil, llm.SchemaUnsupported},
		{"google-vertex-anthropic", "@ai-sdk/google-vertex/anthropic", "claude-sonnet-4-6", nil, llm.SchemaUnsupported},
		{"google-vertex-anthropic", "@ai-sdk/google-vertex/anthropic", "claude-sonnet-4-6", yes, llm.SchemaSupported},
		{"google", "@ai-sdk/google", "gemini-3-pro-preview", yes, llm.SchemaSupported},
		{"google", "@ai-sdk/google", "gemini-2.5-pro", yes, llm.SchemaWithoutTools},
		{"google", "@ai-sdk/google", "gemini-2.5-pro", no, llm.SchemaUnsupported},
		{"google", "@ai-sdk/google", "gemma-3", nil, llm.SchemaWithoutTools},
		{"openrouter", "@openrouter/ai-sdk-provider", "openai/gpt-5", yes, llm.SchemaSupported},
		{"openrouter", "@openrouter/ai-sdk-provider", "openai/gpt-5", nil, llm.SchemaUnsupported},
		{"xai", "@ai-sdk/xai", "grok-4", yes, llm.SchemaSupported},
		{"mistral", "@ai-sdk/mistral", "mistral-large", yes, llm.SchemaWithoutTools},
		{"groq", "@ai-sdk/groq", "openai/gpt-oss-20b", yes, llm.SchemaUnsupported},
		{"deepseek", "@ai-sdk/openai-compatible", "deepseek-chat", yes, llm.SchemaUnsupported},
		{"amazon-bedrock", "@ai-sdk/amazon-bedrock", "anthropic.claude-sonnet-4-5", yes, llm.SchemaUnsupported},
	}
	for _, tt := range tests {
		v, ok := provider.Find(tt.vendor)
		if !ok {
			t.Fatal(tt.vendor)
		}
		v.Wire, _ = v.SelectWire(tt.pkg, tt.model)
		v.BaseURL = "http://127.0.0.1:1/v1"
		m, err := provider.New(provider.Config{
			Vendor: v, Key: secret, Facts: provider.Facts{ModelID: tt.model, StructuredOutput: tt.structured},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.SchemaSupport(); got != tt.want {
			t.Errorf("%s %s %s: %d, want %d", tt.vendor, tt.pkg, tt.model, got, tt.want)
		}
	}
}
