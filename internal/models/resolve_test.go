package models

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// What holds an answer to a schema is known by model: from the catalog, or as the configuration says.
func TestFormsOfModels(t *testing.T) {
	m := newTestSet(t, nil, `{"provider": {
		"openai": {"options": {"baseURL": "http://127.0.0.1:1/v1"}, "models": {"gpt-5": {"structured_output": false}, "own": {}}},
		"anthropic": {"options": {"baseURL": "http://127.0.0.1:1/v1"}},
		"plain": {"options": {"baseURL": "http://127.0.0.1:1/v1"}, "models": {"a": {}, "b": {"structured_output": true}}},
		"able": {"options": {"baseURL": "http://127.0.0.1:1/v1", "supportsStructuredOutputs": true}, "models": {"a": {}, "b": {"structured_output": false}}}
	}}`, nil)
	for _, tt := range []struct {
		provider, id string
		want         llm.SchemaSupport
	}{
		{"openai", "gpt-5.5", llm.SchemaSupported},
		{"openai", "gpt-5", llm.SchemaUnsupported},
		{"openai", "own", llm.SchemaUnsupported},
		{"anthropic", "claude-sonnet-4-5", llm.SchemaSupported},
		{"plain", "a", llm.SchemaUnsupported},
		{"plain", "b", llm.SchemaWithoutTools},
		{"able", "a", llm.SchemaWithoutTools},
		{"able", "b", llm.SchemaUnsupported},
	} {
		got, err := m.Resolve(session.ModelRef{ProviderID: tt.provider, ID: tt.id}, session.Agent{})
		if err != nil {
			t.Errorf("%s/%s: %v", tt.provider, tt.id, err)
			continue
		}
		if got.Forms != tt.want {
			t.Errorf("%s/%s: %d, want %d", tt.provider, tt.id, got.Forms, tt.want)
		}
	}
}

// What a row of the catalog or the configuration says of tools holds for what a model is offered.
func TestModelsThatCallNoTools(t *testing.T) {
	m := newTestSet(
		t,
		nil,
		`{"provider": {"plain": {"options": {"baseURL": "http://127.0.0.1:1/v1"}, "models": {"a": {}, "b": {"tool_call": `+
			`false}}}}}`,
		nil,
	)
	for id, want := range map[string]bool{"a": false, "b": true} {
		got, err := m.Resolve(session.ModelRef{ProviderID: "plain", ID: id}, session.Agent{})
		if err != nil || got.NoTools != want {
			t.Errorf("%s: %+v %v", id, got, err)
		}
	}
}
