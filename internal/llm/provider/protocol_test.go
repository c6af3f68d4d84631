package provider_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

func TestWireOf(t *testing.T) {
	both := provider.Chat // of OpenAI's two
	if provider.Responses.Spoken() {
		both = provider.Responses
	}
	tests := []struct {
		pkg, model string
		want       provider.Wire
		known      bool
	}{
		{"@ai-sdk/openai-compatible", "x", provider.Chat, true},
		{"@openrouter/ai-sdk-provider", "anthropic/claude", provider.Chat, true},
		{"@ai-sdk/openai", "gpt-5", both, true},
		{"@ai-sdk/azure", "gpt-5", both, true},
		{"@ai-sdk/anthropic", "claude-sonnet-4-5", provider.Messages, true},
		{"@ai-sdk/google-vertex/anthropic", "claude-sonnet-4-5", provider.Messages, true},
		{"@ai-sdk/google", "gemini-3-pro", provider.Gemini, true},
		{"@ai-sdk/google-vertex", "gemini-3-pro", provider.Gemini, true},
		{"@ai-sdk/amazon-bedrock", "amazon.nova-pro-v1:0", provider.Converse, true},
		{"@ai-sdk/github-copilot", "gpt-4.1", provider.Chat, true},
		{"@ai-sdk/github-copilot", "gpt-5-mini-2", provider.Chat, true},
		{"@ai-sdk/github-copilot", "gpt-5.1-codex", both, true},
		{"@ai-sdk/github-copilot", "gpt-10", both, true},
		{"@ai-sdk/github-copilot", "claude-sonnet-4.5", provider.Chat, true},
		{"@ai-sdk/cohere", "command", provider.Chat, false},
	}
	for _, tt := range tests {
		if got, known := provider.WireOf(tt.pkg, tt.model); got != tt.want || known != tt.known {
			t.Errorf("%s %s: %q %v, want %q %v", tt.pkg, tt.model, got, known, tt.want, tt.known)
		}
	}
}

func TestQueryOfTheBaseURL(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.String(); got != "/v1/chat/completions?api-version=v1" {
			t.Errorf("%s", got)
		}
		io.WriteString(w, hello+stop+done)
	})
	m, err := provider.New(provider.Config{Vendor: provider.Compatible("test", "Test", s.URL+"/v1/chat/completions/?api-version=v1")})
	if err != nil {
		t.Fatal(err)
	}
	if out := stream(t.Context(), m, request()); out.err != nil {
		t.Error(out.err)
	}
}

func TestKeyHeaderOfAVendor(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Api-Key") != secret || r.Header.Get("Authorization") != "" || r.Header.Get("X-Vendor") != "1" {
			t.Errorf("%v", r.Header)
		}
		io.WriteString(w, hello+stop+done)
	})
	v := provider.Compatible("test", "Test", s.URL)
	v.KeyHeader, v.Headers = "api-key", map[string]string{"x-vendor": "1"}
	m, err := provider.New(provider.Config{Vendor: v, Key: secret, Headers: map[string]string{"authorization": "Bearer other"}})
	if err != nil {
		t.Fatal(err)
	}
	if out := stream(t.Context(), m, request()); out.err != nil {
		t.Error(out.err)
	}
}
