package models

import (
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestLocalServers(t *testing.T) {
	found := map[string][]provider.LocalModel{"ollama": {{ID: "qwen3:8b", Context: 40960}}}
	m := newTestSet(t, found, `{}`, nil)
	if got := listModels(t, m, "ollama"); len(got) != 1 || got[0] != "qwen3:8b" {
		t.Errorf("listed: %q", got)
	}
	if _, err := m.Resolve(session.ModelRef{ProviderID: "ollama", ID: "qwen3:8b"}, session.Agent{}); err != nil {
		t.Error(err)
	}
	if ref, err := m.Default(); err != nil || ref.ProviderID != "cairn" {
		t.Errorf("default without a choice: %v, %v; want the guide", ref, err)
	}
	if !m.IsFresh() {
		t.Error("stale although nothing changed")
	}
	m.pool.localServers.byServer, m.pool.localServers.changed = nil, time.Now().Add(time.Second)
	if m.IsFresh() {
		t.Error("fresh although the server is gone")
	}
	m = newTestSet(t, found, `{"provider": {
		"ollama": {"options": {"baseURL": "http://gpu.example:11434/v1"}, "models": {"mine": {}}}
	}}`, nil)
	for _, name := range listModels(t, m, "ollama") {
		if name == "qwen3:8b" {
			t.Error("discovered models are mixed with configured ones")
		}
	}
	for content, want := range map[string]string{
		`{"provider": {"ollama": {"name": "Mine", "options": {"timeout": 1000, "topP": 0.5}}}}`: "qwen3:8b",
		`{"provider": {"ollama": {"whitelist": ["none"]}}}`:                                     "",
		`{"provider": {"ollama": {"blacklist": ["qwen3:8b"]}}}`:                                 "",
	} {
		m := newTestSet(t, found, content, nil)
		if got := strings.Join(listModels(t, m, "ollama"), " "); got != want {
			t.Errorf("%s: listed %q, want %q", content, got, want)
		}
		if ref, err := m.Default(); err != nil || ref.ProviderID != "cairn" {
			t.Errorf("%s: default without a choice: %v, %v; want the guide", content, ref, err)
		}
	}
	m = newTestSet(t, found, `{}`, map[string]string{"CAIRN_DISABLE_DISCOVERY": "1"})
	if got := listModels(t, m, "ollama"); len(got) > 0 {
		t.Errorf("listed: %q", got)
	}
}

// Credentials of a cloud's own tools make its models usable, but none of them the default.
func TestAmbientCredentials(t *testing.T) {
	ambient := map[string]string{
		"AWS_ACCESS_KEY_ID":     "AKID",
		"AWS_SECRET_ACCESS_KEY": "sk-secret",
		"GITHUB_TOKEN":          "ghp_1",
	}
	m := newTestSet(t, nil, `{}`, ambient)
	if ref, err := m.Default(); err != nil || ref.ProviderID != "cairn" {
		t.Errorf("default without a choice: %v, %v; want the guide", ref, err)
	}
	for _, id := range []string{"github-copilot", "github-models"} {
		if got := listModels(t, m, id); len(got) > 0 {
			t.Errorf("%s has %q through a token for something else", id, got)
		}
	}
	if spoken := provider.Converse.IsSupported(); spoken != (len(listModels(t, m, "amazon-bedrock")) > 0) {
		t.Errorf("Bedrock's protocol: %v, its models: %v", spoken, listModels(t, m, "amazon-bedrock"))
	}
	for _, secret := range m.SecretVariables() {
		if secret == "GITHUB_TOKEN" || secret == "AWS_REGION" || secret == "GOOGLE_VERTEX_PROJECT" {
			t.Errorf("%s is hidden from commands, which may need it", secret)
		}
	}
	m = newTestSet(t, nil, `{}`, map[string]string{"AWS_BEARER_TOKEN_BEDROCK": "sk-secret"})
	if ref, err := m.Default(); err != nil || ref.ProviderID != "amazon-bedrock" && provider.Converse.IsSupported() {
		t.Errorf("default with a Bedrock key: %v, %v", ref, err)
	}
}
