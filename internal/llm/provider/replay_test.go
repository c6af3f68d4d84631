package provider_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/replay"
)

// TestReplay answers a turn from a recording, and a turn that was not recorded with a terminal error.
func TestReplay(t *testing.T) {
	player, err := replay.Open("../openaichat/testdata/recordings/openai-chat/streams-text.json")
	if err != nil {
		t.Fatal(err)
	}
	vendor, _ := provider.Find("openai")
	m, err := provider.New(provider.Config{Vendor: vendor, Key: secret, Transport: player})
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{
		Model:    "gpt-4o-mini",
		System:   []string{"You are concise."},
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "Say hello in one short sentence."}}}},
		Generate: llm.Generation{MaxTokens: 20, Temperature: new(0.0)},
		CacheKey: "ses_1",
	}
	if out := stream(t.Context(), m, req); out.err != nil || out.text != "Hello!" || out.finish.Usage.Input != 22 {
		t.Errorf("got %+v", out)
	}
	if out := stream(t.Context(), m, req); out.err == nil || out.err.Class != llm.InvalidRequest ||
		!strings.Contains(out.err.Message, "have been played") {
		t.Errorf("got %+v", out)
	}
}
