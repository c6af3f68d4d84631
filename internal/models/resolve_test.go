package models

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/location/config"
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

// TestModelIDsWithSigns: an id may have the sign that begins a variant.
func TestModelIDsWithSigns(t *testing.T) {
	m := newTestSet(t, nil, `{"provider": {"q": {"options": {"baseURL": "http://127.0.0.1:1/v1"},
		"models": {"a#b": {}, "c": {}}}}}`, nil)
	for name, want := range map[string]session.ModelRef{
		"q/a#b":         {ProviderID: "q", ID: "a#b"},
		"q/a#b#default": {ProviderID: "q", ID: "a#b", Variant: "default"},
		"q/c#default":   {ProviderID: "q", ID: "c", Variant: "default"},
	} {
		got, err := m.Resolve(*config.ModelName(name).Ref(), session.Agent{})
		if err != nil || got.Ref != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := m.Resolve(*config.ModelName("q/c#b").Ref(), session.Agent{}); err == nil {
		t.Error("an unknown variant is resolved")
	}
}

// TestBareNames: a name without a provider is an id or a family of the usable models; as the default it is an error.
func TestBareNames(t *testing.T) {
	m := newTestSet(t, nil, `{"model": "gpt-5", "provider": {
		"gate": {"options": {"baseURL": "http://127.0.0.1:1/v1"}, "models": {"vendor/claude-old-sonnet": {}, "x/own": {}}},
		"anthropic": {"options": {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "k"}}}}`, nil)
	for name, want := range map[string]string{
		"own": "gate/x/own", "sonnet": "anthropic/claude-sonnet", "Opus[1m]": "anthropic/claude-opus",
		"claude-sonnet-4-5": "anthropic/claude-sonnet-4-5",
	} {
		if got := m.FindBare(name); got == nil || !strings.HasPrefix(got.String(), want) {
			t.Errorf("%s: got %v, want %s", name, got, want)
		}
	}
	if got := m.FindBare("nothing-like-it"); got != nil {
		t.Errorf("got %v", got)
	}
	if _, err := m.Default(); err == nil || !strings.Contains(err.Error(), "/gpt-5") {
		t.Errorf("got %v", err)
	}
}
