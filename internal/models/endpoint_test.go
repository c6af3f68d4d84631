package models

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestPackagesOfProviders holds providers that a user has given names of their own to the vendors whose packages they
// name: the address, the header of the key, and what the vendor's endpoint expects of a body.
func TestPackagesOfProviders(t *testing.T) {
	tests := []struct{ npm, options, url, header, body string }{
		{"@ai-sdk/anthropic", ``, "https://api.anthropic.com/v1/messages", "X-Api-Key: K", `"max_tokens"`},
		{"@ai-sdk/anthropic", `"baseURL": "https://p.example/v1"`, "https://p.example/v1/messages", "X-Api-Key: K", ``},
		{"@ai-sdk/openai", ``, "https://api.openai.com/v1/responses", "Authorization: Bearer K", `"store":false`},
		{
			"@ai-sdk/openai",
			`"baseURL": "https://p.example/v1"`,
			"https://p.example/v1/responses",
			"Authorization: Bearer K",
			``,
		},
		{"@ai-sdk/openai", `"organization": "o"`, "https://api.openai.com/v1/responses", "Openai-Organization: o", ``},
		{
			"@ai-sdk/azure",
			`"resourceName": "r"`,
			"https://r.openai.azure.com/openai/v1/responses?api-version=v1",
			"Api-Key: K",
			``,
		},
		{
			"@ai-sdk/google",
			``,
			"https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
			"X-Goog-Api-Key: K",
			`"contents"`,
		},
		{
			"@ai-sdk/amazon-bedrock",
			`"region": "eu-west-1"`,
			"https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse-stream",
			"Authorization: Bearer K",
			`"modelId":"m"`,
		},
		{
			"@ai-sdk/mistral",
			`"seed": 7`,
			"https://api.mistral.ai/v1/chat/completions",
			"Authorization: Bearer K",
			`"random_seed":7`,
		},
		{
			"@ai-sdk/groq",
			`"serviceTier": "on_demand"`,
			"https://api.groq.com/openai/v1/chat/completions",
			"Authorization: Bearer K",
			`"service_tier":"on_demand"`,
		},
		{"@ai-sdk/xai", ``, "https://api.x.ai/v1/responses", "Authorization: Bearer K", ``},
		{"@ai-sdk/cerebras", ``, "https://api.cerebras.ai/v1/chat/completions", "Authorization: Bearer K", ``},
		{"@ai-sdk/togetherai", ``, "https://api.together.xyz/v1/chat/completions", "Authorization: Bearer K", ``},
		{
			"@ai-sdk/fireworks",
			``,
			"https://api.fireworks.ai/inference/v1/chat/completions",
			"Authorization: Bearer K",
			``,
		},
		{
			"@ai-sdk/deepinfra",
			``,
			"https://api.deepinfra.com/v1/openai/chat/completions",
			"Authorization: Bearer K",
			``,
		},
		{"@ai-sdk/deepseek", ``, "https://api.deepseek.com/v1/chat/completions", "Authorization: Bearer K", ``},
		{"@ai-sdk/perplexity", ``, "https://api.perplexity.ai/chat/completions", "Authorization: Bearer K", ``},
		{"@ai-sdk/gateway", ``, "https://ai-gateway.vercel.sh/v1/chat/completions", "Authorization: Bearer K", ``},
		{
			"@openrouter/ai-sdk-provider",
			`"reasoningEffort": "low"`,
			"https://openrouter.ai/api/v1/chat/completions",
			"Authorization: Bearer K",
			`"reasoning":{"effort":"low"}`,
		},
		{
			"@openrouter/ai-sdk-provider",
			`"baseURL": "https://p.example/v1"`,
			"https://p.example/v1/chat/completions",
			"Authorization: Bearer K",
			`"usage":{"include":true}`,
		},
		{
			"@ai-sdk/openai-compatible",
			`"baseURL": "https://p.example/v1", "reasoning": {"enabled": true}, "provider": {"order": ["a"]}, "usage": ` +
				`{"include": true}, "transforms": ["t"], "thinking": {"type": "auto"}`,
			"https://p.example/v1/chat/completions", "Authorization: Bearer K",
			`"provider":{"order":["a"]},"reasoning":{"enabled":true},"thinking":{"type":"auto"},"transforms":["t"],"usage":{"include":true}`,
		},
	}
	for _, tt := range tests {
		content := `{"provider": {"own": {"npm": "` + tt.npm + `", "options": {"apiKey": "K"` + strings.TrimSuffix(
			", "+tt.options,
			", ",
		) + `}, "models": {"m": {}}}}}`
		heard, err := ask(t, content, "own/m", nil)
		if err != nil || heard.Request == nil {
			t.Errorf("%s: %v", tt.npm, err)
			continue
		}
		var head strings.Builder
		_ = heard.Header.Write(&head)
		if got := heard.URL.String(); got != tt.url || !strings.Contains(head.String(), tt.header) ||
			!strings.Contains(heard.said, tt.body) {
			t.Errorf(
				"%s asked %s, want %s\nwith %s in\n%s and %s in\n%s",
				tt.npm,
				got,
				tt.url,
				tt.header,
				head.String(),
				tt.body,
				heard.said,
			)
		}
	}
}

// Each vendor of the table has models that a key makes usable, or a reason why not.
func TestEveryVendorHasModels(t *testing.T) {
	// the built-in list of models may have none of these; the message says how to get them
	unlisted := []string{"huggingface", "kimi-for-coding", "minimax", "nvidia", "zai", "zai-coding-plan"}
	local := []string{"llamacpp", "vllm"} // no two have the same models
	for _, row := range provider.ListVendors() {
		env := map[string]string{}
		for _, name := range row.KeyEnv {
			env[name] = "k"
		}
		for _, s := range row.Settings {
			if s.Default == "" {
				env[s.Env[0]] = "mine"
			}
		}
		if row.Scheme == provider.AuthGoogle {
			env["GOOGLE_APPLICATION_CREDENTIALS"] = filepath.Join(t.TempDir(), "c.json")
			if err := os.WriteFile(env["GOOGLE_APPLICATION_CREDENTIALS"], []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if row.Scheme == provider.AuthAWS {
			env = map[string]string{"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S"}
		}
		m := newTestSet(t, map[string][]provider.LocalModel{}, "{}", env)
		_, err := m.Resolve(session.ModelRef{ProviderID: row.ID, ID: "nope"}, session.Agent{})
		switch why := m.WhyUnusable(row.ID); {
		case slices.Contains(local, row.ID):
			if !strings.Contains(why, "no server at http://127.0.0.1:") || err == nil ||
				!strings.Contains(err.Error(), why) {
				t.Errorf("%s: %s; %v", row.ID, why, err)
			}
		case len(row.KeyEnv) == 0 && row.Scheme == provider.AuthKey: // models that people often have there
		case slices.Contains(unlisted, row.ID) && strings.Contains(why, "run cairn models --refresh to fetch the list"):
		case why != "" || len(m.SupportedModels(row.ID)) == 0:
			t.Errorf("%s has %d models: %s", row.ID, len(m.SupportedModels(row.ID)), why)
		}
		none := newTestSet(t, map[string][]provider.LocalModel{}, "{}", nil)
		if why := none.WhyUnusable(row.ID); why == "" && (len(row.KeyEnv) > 0 || row.Scheme != provider.AuthKey) {
			t.Errorf("%s without a key: nothing is missing", row.ID)
		}
	}
	m := newTestSet(
		t,
		nil,
		`{"disabled_providers": ["groq"], "provider": {"mine": {"options": {"baseURL": "http://127.0.0.1:9/v1"}}}}`,
		map[string]string{"AZURE_API_KEY": "k"},
	)
	for id, want := range map[string]string{
		"groq": "disabled by the configuration", "mine": "provider.mine.models", "together": "togetherai", "unknown": "",
		"azure": "AZURE_RESOURCE_NAME", "openai": "cairn auth login openai",
	} {
		if got := m.WhyUnusable(id); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s", id, got)
		}
	}
}
