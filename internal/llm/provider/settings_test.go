package provider_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

func TestResolveBaseURL(t *testing.T) {
	tests := []struct {
		id      string
		options map[string]string
		env     map[string]string
		want    string // the address, or a part of the error
	}{
		{
			"azure", nil,
			map[string]string{"AZURE_RESOURCE_NAME": "mine"},
			"https://mine.openai.azure.com/openai/v1?api-version=v1",
		},
		{
			"azure",
			map[string]string{"resourceName": "r2", "apiVersion": "2025-04-01-preview"},
			map[string]string{"AZURE_RESOURCE_NAME": "mine"},
			"https://r2.openai.azure.com/openai/v1?api-version=2025-04-01-preview",
		},
		{"azure", nil, nil, "set AZURE_RESOURCE_NAME, or options.resourceName"},
		{"azure", nil, map[string]string{"AZURE_RESOURCE_NAME": "evil.example/x?"}, "is not valid in a URL"},
		{"azure", nil, map[string]string{"AZURE_RESOURCE_NAME": "a@evil"}, "is not valid in a URL"},
		{
			"azure/deployed", nil,
			map[string]string{"AZURE_RESOURCE_NAME": "mine"},
			"https://mine.openai.azure.com/openai?api-version=2024-10-21",
		},
		{
			"azure/deployed",
			map[string]string{"apiVersion": "2025-04-01-preview"},
			map[string]string{"AZURE_RESOURCE_NAME": "mine"},
			"https://mine.openai.azure.com/openai?api-version=2025-04-01-preview",
		},
		{
			"azure", nil,
			map[string]string{"AZURE_RESOURCE_NAME": "mine"},
			"https://mine.openai.azure.com/openai/v1?api-version=v1",
		},
		{"amazon-bedrock", nil, nil, "https://bedrock-runtime.us-east-1.amazonaws.com"},
		{
			"amazon-bedrock", nil,
			map[string]string{"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "x"},
			"https://bedrock-runtime.eu-west-1.amazonaws.com",
		},
		{
			"google-vertex", nil,
			map[string]string{"GOOGLE_CLOUD_PROJECT": "p"},
			"https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google",
		},
		{
			"google-vertex-anthropic",
			map[string]string{"location": "us-east5"},
			map[string]string{"GOOGLE_VERTEX_PROJECT": "p"},
			"https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic",
		},
		{
			"google-vertex",
			map[string]string{"location": "eu"},
			map[string]string{"GOOGLE_VERTEX_PROJECT": "p"},
			"https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/google",
		},
		{"google-vertex", nil, nil, "GOOGLE_VERTEX_PROJECT or GOOGLE_CLOUD_PROJECT"},
		{
			"cloudflare-ai-gateway", nil,
			map[string]string{"CLOUDFLARE_ACCOUNT_ID": "acc"},
			"https://gateway.ai.cloudflare.com/v1/acc/default/compat",
		},
		{
			"cloudflare-workers-ai",
			map[string]string{"accountId": "acc"},
			nil,
			"https://api.cloudflare.com/client/v4/accounts/acc/ai/v1",
		},
		{"groq", nil, nil, "https://api.groq.com/openai/v1"},
	}
	for _, tt := range tests {
		id, deployed := strings.CutSuffix(tt.id, "/deployed")
		v, ok := provider.Find(id)
		if deployed {
			v = v.WithDeployments()
		}
		if !ok {
			t.Fatalf("%s is not in the table", tt.id)
		}
		got, err := v.ResolveBaseURL(provider.Lookup{
			Option: func(name string) string { return tt.options[name] },
			Env:    func(name string) string { return tt.env[name] },
		})
		if err != nil {
			if strings.HasPrefix(tt.want, "https://") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", tt.id, err, tt.want)
			}
			continue
		}
		if got.BaseURL != tt.want {
			t.Errorf("%s: %s, want %s", tt.id, got.BaseURL, tt.want)
		}
	}
}

// TestResolveBaseURLByVariable: models.dev names settings of unknown providers by their environment variables.
func TestResolveBaseURLByVariable(t *testing.T) {
	v, err := provider.NewCompatible("x", "X", "https://h/${X_ACCOUNT}/v1").ResolveBaseURL(provider.Lookup{
		Env: func(name string) string { return strings.ToLower(name) },
	})
	if err != nil || v.BaseURL != "https://h/x_account/v1" {
		t.Errorf("%s %v", v.BaseURL, err)
	}
	azure, _ := provider.Find("azure")
	azure.BaseURL = "https://${AZURE_RESOURCE_NAME}.services.ai.azure.com/anthropic/v1"
	azure, err = azure.ResolveBaseURL(provider.Lookup{Env: env(), Option: env("resourceName", "mine")})
	if err != nil || azure.BaseURL != "https://mine.services.ai.azure.com/anthropic/v1" {
		t.Errorf("%s %v", azure.BaseURL, err)
	}
}
