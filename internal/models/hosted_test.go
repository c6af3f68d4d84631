package models

import (
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// Gemini before version 3 takes the vendor's tools or those of cairn, not both.
func TestExclusiveHostedTools(t *testing.T) {
	m := newTestSet(t, nil, `{"provider": {
		"google": {"hosted_tools": ["web_search"], "options": {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "k"}}
	}}`, nil)
	for id, exclusive := range map[string]bool{"gemini-2.5-flash": true, "gemini-3.1-pro-preview": false} {
		model, err := m.Catalog.Model("google", id)
		if err != nil {
			t.Fatal(err)
		}
		names := m.ExclusiveHostedTools(model)
		if slices.Contains(names, "web_search") != exclusive {
			t.Errorf("%s: ExclusiveHostedTools = %q, want web_search in it: %v", id, names, exclusive)
		}
		resolved, err := m.Resolve(session.ModelRef{ProviderID: "google", ID: id}, session.Agent{})
		if err != nil || resolved.HostedExclusive != exclusive || len(resolved.Hosted) != 1 {
			t.Errorf("%s: %+v %v", id, resolved, err)
		}
	}
}

// The error for a tool that the vendor does not run names those that it runs.
func TestUnknownHostedTools(t *testing.T) {
	m := newTestSet(t, nil, `{"provider": {
		"openai": {"hosted_tools": ["web_serch"], "options": {"baseURL": "http://127.0.0.1:1/v1"}},
		"groq": {"hosted_tools": ["web_search"], "options": {"baseURL": "http://127.0.0.1:1/v1"}}
	}}`, nil)
	for model, want := range map[session.ModelRef]string{
		{ProviderID: "openai", ID: "gpt-5.5"}:               "code_execution, image_generation, web_search",
		{ProviderID: "groq", ID: "llama-3.3-70b-versatile"}: "has no hosted tools",
	} {
		if _, err := m.Resolve(model, session.Agent{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", model, err)
		}
	}
}
