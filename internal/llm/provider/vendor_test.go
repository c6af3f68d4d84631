package provider_test

import (
	"fmt"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// TestOwnWires: xAI answers over Responses and MiniMax over Messages, whatever package stands for compatible servers.
func TestOwnWires(t *testing.T) {
	for _, c := range []struct {
		id, pkg string
		want    provider.Wire
	}{
		{"xai", "@ai-sdk/xai", provider.Responses},
		{"xai", "", provider.Responses},
		{"minimax", "@ai-sdk/openai-compatible", provider.Messages},
		{"minimax", "@ai-sdk/anthropic", provider.Messages},
		{"kimi-for-coding", "@ai-sdk/anthropic", provider.Messages},
		{"kimi-for-coding", "", provider.Chat},
		{"zai", "@ai-sdk/openai-compatible", provider.Chat},
	} {
		row, known := provider.Find(c.id)
		if wire, ok := row.SelectWire(c.pkg, "m"); !known || !ok || wire != c.want {
			t.Errorf("%s by %q: %v", c.id, c.pkg, wire)
		}
	}
}

// TestFindReturnsCopies: changing a row that Find returned does not change the table.
func TestFindReturnsCopies(t *testing.T) {
	spoil := func(v provider.Vendor) {
		for i := range v.Settings {
			v.Settings[i].Default = "spoilt"
		}
		for i := range v.KeyEnv {
			v.KeyEnv[i] = "SPOILT"
		}
		for name := range v.Headers {
			v.Headers[name] = "spoilt"
		}
	}
	want := fmt.Sprintf("%+v", provider.ListVendors()) // a text, because rows that share memory would be equal
	for _, v := range provider.ListVendors() {
		spoil(v)
		found, known := provider.Find(v.ID)
		if !known || found.ID != v.ID {
			t.Errorf("Find(%q) found nothing", v.ID)
		}
		spoil(found)
	}
	if got := fmt.Sprintf("%+v", provider.ListVendors()); got != want {
		t.Errorf("the table changed to\n%s\nfrom\n%s", got, want)
	}
}
