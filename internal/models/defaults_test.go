package models

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/session"
)

// Small work is done by the configured model, else by a cheap one of the same provider, else by the model at hand, with
// little thinking. Models that need no provider do none.
func TestSmall(t *testing.T) {
	const mock = `"provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:1", "apiKey": "k"},
		"models": {"main": {"name": "Main"}, "tiny#1": {"name": "Tiny"},
		"small": {"name": "Small", "temperature": true, "variants": {"low": {}, "high": {}}}}}}`
	main := session.ModelRef{ProviderID: "mock", ID: "main"}
	least := session.ModelRef{ProviderID: "mock", ID: "main", Variant: catalog.LeastReasoning}
	small := session.ModelRef{ProviderID: "mock", ID: "small", Variant: catalog.LeastReasoning}
	for name, c := range map[string]struct {
		config string
		beside session.ModelRef
		want   session.ModelRef
	}{
		"configured":     {`{` + mock + `, "small_model": "mock/small"}`, main, small},
		"with a variant": {`{` + mock + `, "small_model": "mock/small#high"}`, main, small},
		"a # in the id": {
			`{` + mock + `, "small_model": "mock/tiny#1"}`, main,
			session.ModelRef{ProviderID: "mock", ID: "tiny#1", Variant: catalog.LeastReasoning},
		},
		"not configured": {`{` + mock + `}`, main, least},
		"not there":      {`{` + mock + `, "small_model": "mock/smal"}`, main, least},
		"offline": {
			`{` + mock + `, "small_model": "mock/small"}`,
			session.ModelRef{ProviderID: "cairn", ID: "guide"},
			session.ModelRef{},
		},
		"unknown": {`{` + mock + `}`, session.ModelRef{ProviderID: "mock", ID: "none"}, session.ModelRef{}},
	} {
		m := newTestSet(t, nil, c.config, nil)
		if got, ok := m.SmallModel(c.beside); got != c.want || ok != (c.want.ID != "") {
			t.Errorf("%s: %+v %v", name, got, ok)
		}
	}
	m := newTestSet(t, nil, `{`+mock+`}`, nil)
	for _, a := range agent.New(m.Config, agent.Options{}).List() {
		if a.ID != agent.Title {
			continue
		}
		for id, want := range map[string]bool{"main": false, "small": true} {
			got, err := m.Resolve(session.ModelRef{ProviderID: "mock", ID: id}, a)
			if err != nil || (got.Generate.Temperature != nil) != want {
				t.Errorf("%s: %+v %v", id, got, err)
			}
		}
	}
}
