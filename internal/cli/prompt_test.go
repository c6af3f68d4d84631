package cli

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// A model is named as the configuration names it.
func TestParseModel(t *testing.T) {
	for text, want := range map[string]session.ModelRef{
		"a/b":       {ProviderID: "a", ID: "b"},
		"a/b#high":  {ProviderID: "a", ID: "b", Variant: "high"},
		"a/b@high":  {ProviderID: "a", ID: "b", Variant: "high"},
		"a/b/c#x":   {ProviderID: "a", ID: "b/c", Variant: "x"},
		"a/@cf/b":   {ProviderID: "a", ID: "@cf/b"},
		"a/@cf/b#x": {ProviderID: "a", ID: "@cf/b", Variant: "x"},
		"a/b@1#x":   {ProviderID: "a", ID: "b@1", Variant: "x"},
		"google-vertex-anthropic/claude-haiku-4-5@20251001": {
			ProviderID: "google-vertex-anthropic",
			ID:         "claude-haiku-4-5@20251001",
		},
		"google-vertex-anthropic/claude-opus-4-6@default": {
			ProviderID: "google-vertex-anthropic",
			ID:         "claude-opus-4-6@default",
		},
		"google-vertex-anthropic/claude-haiku-4-5@20251001#high": {
			ProviderID: "google-vertex-anthropic",
			ID:         "claude-haiku-4-5@20251001", Variant: "high",
		},
		"proxy/claude-haiku-4-5@20251001": {ProviderID: "proxy", ID: "claude-haiku-4-5@20251001"},
		"a/b#":                            {ProviderID: "a", ID: "b#"},
	} {
		got, err := ParseModel(text)
		if err != nil || got == nil || *got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"a", "/b", "a/", "#x"} {
		if got, err := ParseModel(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
