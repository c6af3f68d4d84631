package models

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// overheard is a transport that answers nothing and keeps what it was asked.
type overheard struct {
	*http.Request
	said string
}

func (o *overheard) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	o.Request, o.said = r, string(body)
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: http.NoBody, Request: r}, err
}

// ask sends a request to the model, named provider/model, as a configuration and an environment have it.
func ask(t *testing.T, content, name string, env map[string]string) (*overheard, error) {
	t.Helper()
	m := newTestSet(t, nil, content, env)
	heard := &overheard{}
	m.pool.Transport = heard
	id, model, _ := strings.Cut(name, "/")
	resolved, err := m.Resolve(session.ModelRef{ProviderID: id, ID: model}, session.Agent{})
	if err != nil {
		return heard, err
	}
	sendHello(t, resolved)
	return heard, nil
}

// sendHello sends a prompt to a model.
func sendHello(t *testing.T, resolved *scope.Model) {
	t.Helper()
	req := &llm.Request{
		Model: resolved.APIName, Generate: resolved.Generate, Options: resolved.Options, Body: resolved.Body,
		Headers: resolved.Headers, CacheKey: "ses_1",
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "hi"}}}},
	}
	for range resolved.Client.Stream(t.Context(), req) {
	}
}

// TestSettingsOfProviders holds what each setting of a provider does to a request: where it goes, and with what.
func TestSettingsOfProviders(t *testing.T) {
	azure := func(options string) string { return `"azure": {"options": {"apiKey": "K", ` + options + `}}` }
	tests := []struct {
		name, provider, model string // the provider's configuration
		url                   string
		headers               string // lines that are there; with ! before them, that are not
		body                  string // likewise
	}{
		{
			"Azure by its resource",
			azure(`"resourceName": "r", "apiVersion": "2025-01-01"`),
			"azure/d",
			"https://r.openai.azure.com/openai/v1/responses?api-version=2025-01-01",
			"Api-Key: K",
			"",
		},
		{
			"Azure at an address, as its SDK has it",
			azure(`"baseURL": "https://a.example/openai", "apiVersion": "2025-01-01"`),
			"azure/d",
			"https://a.example/openai/v1/responses?api-version=2025-01-01",
			"Api-Key: K",
			"",
		},
		{
			"Azure's address with its interface",
			azure(`"baseURL": "https://a.example/openai/v1/"`),
			"azure/d",
			"https://a.example/openai/v1/responses?api-version=v1",
			"",
			"",
		},
		{
			"the version of an address wins",
			azure(`"baseURL": "https://a.example/openai/v1?api-version=x", "apiVersion": "y"`),
			"azure/d",
			"https://a.example/openai/v1/responses?api-version=x",
			"",
			"",
		},
		{
			"Azure's address as its portal shows it",
			azure(`"baseURL": "https://r.openai.azure.com/"`),
			"azure/d",
			"https://r.openai.azure.com/openai/v1/responses?api-version=v1",
			"",
			"",
		},
		{
			"Azure's address of a deployment",
			azure(`"baseURL": "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21"`),
			"azure/d",
			"https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
			"",
			"",
		},
		{
			"Azure's deployments",
			azure(`"baseURL": "https://a.example/openai", "useDeploymentBasedUrls": true`),
			"azure/d",
			"https://a.example/openai/deployments/d/chat/completions?api-version=2024-10-21",
			"",
			"",
		},
		{
			"Azure over Chat",
			azure(`"baseURL": "https://a.example/openai", "useCompletionUrls": true`),
			"azure/d",
			"https://a.example/openai/v1/chat/completions?api-version=v1",
			"",
			"",
		},
		{
			"a word is no switch",
			azure(`"baseURL": "https://a.example/openai", "useCompletionUrls": "yes", "useDeploymentBasedUrls": "yes"`),
			"azure/d",
			"https://a.example/openai/v1/responses?api-version=v1",
			"",
			"!useCompletion",
		},
		{
			"OpenAI's organisation", `"openai": {"options": {"apiKey": "K", "organization": "org", "project": "proj"}}`,
			"openai/gpt-4.1", "https://api.openai.com/v1/responses",
			"Authorization: Bearer K\nOpenai-Organization: org\nOpenai-Project: proj", `"prompt_cache_key":"ses_1"`,
		},
		{
			"no key of the cache",
			`"openai": {"options": {"apiKey": "K", "setCacheKey": false}}`,
			"openai/gpt-4.1",
			"https://api.openai.com/v1/responses",
			"",
			"!prompt_cache_key",
		},
		{
			"a key of the cache",
			`"mine": {"options": {"baseURL": "https://m.example/v1", "setCacheKey": true}}`,
			"mine/d",
			"https://m.example/v1/chat/completions",
			"",
			`"prompt_cache_key":"ses_1"`,
		},
		{
			"a compatible server",
			`"mine": {"options": {"baseURL": "https://m.example/v1", "queryParams": {"a": "b c", "n": 1}, "includeUsage": ` +
				`false}}`,
			"mine/d",
			"https://m.example/v1/chat/completions?a=b+c&n=1",
			"",
			"!include_usage\":true",
		},
		{
			"Anthropic by a token",
			`"anthropic": {"options": {"authToken": "T"}}`,
			"anthropic/claude-sonnet-4-5",
			"https://api.anthropic.com/v1/messages",
			"Authorization: Bearer T\n!X-Api-Key",
			"",
		},
		{
			"OpenRouter's app",
			`"openrouter": {"options": {"apiKey": "K", "appName": "A", "appUrl": "https://a.example"}}`,
			"openrouter/d",
			"https://openrouter.ai/api/v1/chat/completions",
			"X-Title: A\nHttp-Referer: https://a.example",
			"",
		},
		{
			"Cloudflare's gateway",
			`"cloudflare-ai-gateway": {"options": {"apiKey": "K", "accountId": "acc", "gatewayId": "g"}}`,
			"cloudflare-ai-gateway/d",
			"https://gateway.ai.cloudflare.com/v1/acc/g/compat/chat/completions",
			"Cf-Aig-Authorization: Bearer K",
			"",
		},
		{
			"Bedrock's keys and its endpoint",
			`"amazon-bedrock": {"options": {"accessKeyId": "AKIA", "secretAccessKey": "S", "sessionToken": "ST", "region": ` +
				`"eu-west-3", "endpoint": "https://vpce.example"}}`,
			"amazon-bedrock/d", "https://vpce.example/model/d/converse-stream",
			"Authorization: AWS4-HMAC-SHA256 Credential=AKIA/\nX-Amz-Security-Token: ST", "",
		},
		{
			"Vertex by a key alone",
			`"google-vertex": {"options": {"apiKey": "K"}}`,
			"google-vertex/gemini-2.5-flash",
			"https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
			"X-Goog-Api-Key: K",
			"",
		},
		{
			"a model of others at Azure", azure(`"resourceName": "r"`), "azure/kimi-k2.5",
			"https://r.services.ai.azure.com/models/chat/completions",
			"Api-Key: K", "\"max_tokens\"\n!prompt_cache_key",
		},
		{
			"a model of others at GitHub",
			`"github-models": {"options": {"apiKey": "K"}}`,
			"github-models/deepseek/deepseek-r1",
			"https://models.github.ai/inference/chat/completions",
			"Authorization: Bearer K",
			"\"max_tokens\"",
		},
		{
			"every model behind Cloudflare's gateway",
			`"cloudflare-ai-gateway": {"options": {"apiKey": "K", "accountId": "acc", "reasoningEffort": "low"}}`,
			"cloudflare-ai-gateway/anthropic/claude-opus-4-7",
			"https://gateway.ai.cloudflare.com/v1/acc/default/compat/chat/completions",
			"Cf-Aig-Authorization: Bearer K", `"reasoning_effort":"low"`,
		},
		{
			"what a server of anybody's may know",
			`"togetherai": {"options": {"apiKey": "K", "reasoning": {"enabled": false}}}`,
			"togetherai/d",
			"https://api.together.xyz/v1/chat/completions",
			"",
			`"reasoning":{"enabled":false}`,
		},
		{
			"what a strict one does not",
			`"groq": {"options": {"apiKey": "K", "reasoning": {"enabled": false}}}`,
			"groq/d",
			"https://api.groq.com/openai/v1/chat/completions",
			"",
			"!reasoning",
		},
		{
			"Claude's options as its SDK has them",
			`"anthropic": {"options": {"apiKey": "K", "taskBudget": {"type": "tokens", "total": 20000}, "metadata": ` +
				`{"userId": "u"}}}`, "anthropic/claude-opus-4-7",
			"https://api.anthropic.com/v1/messages",
			"Anthropic-Beta: interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14,task-budgets-2026-03-13",
			`"metadata":{"user_id":"u"}`,
		},
		{
			"Bedrock's tier",
			`"amazon-bedrock": {"options": {"apiKey": "K", "serviceTier": "priority"}}`,
			"amazon-bedrock/d",
			"https://bedrock-runtime.us-east-1.amazonaws.com/model/d/converse-stream",
			"Authorization: Bearer K",
			`"serviceTier":{"type":"priority"}`,
		},
		{
			"a company's GitHub", `"github-copilot": {"options": {"enterpriseUrl": "https://corp.ghe.com/"}}`,
			"github-copilot/gpt-4.1", "https://copilot-api.corp.ghe.com/chat/completions", "", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, model, _ := strings.Cut(tt.model, "/")
			content := strings.Replace(
				`{"provider": {`+tt.provider+`}}`,
				`"options"`,
				`"models": {"`+model+`": {}}, "options"`,
				1,
			)
			heard, err := ask(t, content, id+"/"+model, nil)
			if err != nil || heard.Request == nil {
				t.Fatalf("%v", err)
			}
			if got := heard.URL.String(); got != tt.url {
				t.Errorf("asked %s,\nwant  %s", got, tt.url)
			}
			var head strings.Builder
			_ = heard.Header.Write(&head)
			for _, in := range []struct{ text, want string }{{head.String(), tt.headers}, {heard.said, tt.body}} {
				for want := range strings.SplitSeq(in.want, "\n") {
					absent := strings.HasPrefix(want, "!")
					if strings.Contains(in.text, strings.TrimPrefix(want, "!")) == absent {
						t.Errorf("%s in\n%s", want, in.text)
					}
				}
			}
		})
	}
}

// What models.dev lists of Vertex's variables holds no key.
func TestVertexSendsNoProjectAsKey(t *testing.T) {
	for _, name := range []string{
		"google-vertex/gemini-2.5-flash",
		"google-vertex-anthropic/claude-haiku-4-5@20251001",
	} {
		heard, err := ask(
			t,
			`{}`,
			name,
			map[string]string{"GOOGLE_VERTEX_PROJECT": "proj", "GOOGLE_APPLICATION_CREDENTIALS": "/none"},
		)
		if err != nil || heard.Request != nil {
			t.Errorf("%s: %v; sent %v", name, err, heard.Request)
		}
	}
	m := newTestSet(t, nil, `{}`, map[string]string{"GOOGLE_VERTEX_API_KEY": "K"})
	if got := listModels(t, m, "google-vertex"); len(got) == 0 {
		t.Error("a key alone lists no models")
	}
}

// The address of an endpoint has the configured query parameters.
func TestQueryParameters(t *testing.T) {
	m := newTestSet(t, nil, `{"provider": {
		"mine": {"options": {"baseURL": "https://m.example/v1?a=1", "queryParams": {"key": "k", "b": 2}}}
	}}`, nil)
	p, err := m.Catalog.Provider("mine")
	if err != nil {
		t.Fatal(err)
	}
	row, err := m.Endpoint(p, p.API)
	if want := "https://m.example/v1?a=1&b=2&key=k"; err != nil || row.BaseURL != want {
		t.Errorf("address %s, %v; want %s", row.BaseURL, err, want)
	}
}
