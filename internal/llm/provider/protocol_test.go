package provider_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

func TestWireOf(t *testing.T) {
	tests := []struct {
		pkg, model string
		want       provider.Wire
		known      bool
	}{
		{"@ai-sdk/openai-compatible", "x", provider.Chat, true},
		{"@openrouter/ai-sdk-provider", "anthropic/claude", provider.Chat, true},
		{"@ai-sdk/openai", "gpt-5", provider.Responses, true},
		{"@ai-sdk/azure", "gpt-5", provider.Responses, true},
		{"@ai-sdk/anthropic", "claude-sonnet-4-5", provider.Messages, true},
		{"@ai-sdk/google-vertex/anthropic", "claude-sonnet-4-5", provider.Messages, true},
		{"@ai-sdk/google", "gemini-3-pro", provider.Gemini, true},
		{"@ai-sdk/google-vertex", "gemini-3-pro", provider.Gemini, true},
		{"@ai-sdk/amazon-bedrock", "amazon.nova-pro-v1:0", provider.Converse, true},
		{"@ai-sdk/github-copilot", "gpt-4.1", provider.Chat, true},
		{"@ai-sdk/github-copilot", "gpt-5-mini-2", provider.Chat, true},
		{"@ai-sdk/github-copilot", "gpt-5.1-codex", provider.Responses, true},
		{"@ai-sdk/github-copilot", "gpt-10", provider.Responses, true},
		{"@ai-sdk/github-copilot", "claude-sonnet-4.5", provider.Chat, true},
		{"@ai-sdk/cohere", "command", provider.Chat, false},
	}
	for _, tt := range tests {
		if got, known := provider.WireOfPackage(tt.pkg, tt.model); got != tt.want || known != tt.known {
			t.Errorf("%s %s: %q %v, want %q %v", tt.pkg, tt.model, got, known, tt.want, tt.known)
		}
	}
}

func TestBaseURLQuery(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.String(); got != "/v1/chat/completions?api-version=v1" {
			t.Errorf("%s", got)
		}
		io.WriteString(w, hello+stop+done)
	})
	m, err := provider.New(provider.Config{
		Vendor: provider.NewCompatible("test", "Test", s.URL+"/v1/chat/completions/?api-version=v1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := stream(t.Context(), m, request()); out.err != nil {
		t.Error(out.err)
	}
}

func TestVendorKeyHeader(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Api-Key") != secret || r.Header.Get("Authorization") != "" || r.Header.Get("X-Vendor") != "1" {
			t.Errorf("%v", r.Header)
		}
		io.WriteString(w, hello+stop+done)
	})
	v := provider.NewCompatible("test", "Test", s.URL)
	v.KeyHeader, v.Headers = "api-key", map[string]string{"x-vendor": "1"}
	m, err := provider.New(provider.Config{
		Vendor: v, Key: secret, Headers: map[string]string{"authorization": "Bearer other"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := stream(t.Context(), m, request()); out.err != nil {
		t.Error(out.err)
	}
}

// TestWires checks the address, the key header and the body of each wire.
func TestWires(t *testing.T) {
	tests := []struct {
		wire               provider.Wire
		path, header, sent string // of the request
		answer             string
	}{
		{
			provider.Responses, "/v1/responses", "Authorization",
			`"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]`,
			`data: {"type":"response.output_text.delta","output_index":0,"delta":"hello"}` + "\n\n" +
				`data: {"type":"response.completed","response":{}}` + "\n\n",
		},
		{
			provider.Gemini, "/v1/models/m:streamGenerateContent?alt=sse", "X-Goog-Api-Key",
			`"contents":[{"role":"user","parts":[{"text":"hi"}]}]`,
			`data: {"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":"STOP"}]}` + "\n\n",
		},
	}
	for _, tt := range tests {
		t.Run(string(tt.wire), func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.String() != tt.path || !strings.Contains(r.Header.Get(tt.header), secret) ||
					!strings.Contains(string(body), tt.sent) {
					t.Errorf("%s %v %s", r.URL, r.Header, body)
				}
				io.WriteString(w, tt.answer)
			})
			v := provider.NewCompatible("test", "Test", s.URL+"/v1")
			v.Wire = tt.wire
			m, err := provider.New(provider.Config{Vendor: v, Key: secret})
			if err != nil {
				t.Fatal(err)
			}
			if out := stream(t.Context(), m, request()); out.err != nil || out.text != "hello" {
				t.Errorf("%v %q", out.err, out.text)
			}
		})
	}
}
