package host

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/llm/script"
)

// list returns the models that can be used, for people and clients, without any secret.
func (m *locationModels) list() ([]api.Model, error) {
	var out []api.Model
	for _, model := range m.catalog.Available() {
		if !spoken(model.API) {
			continue
		}
		var wire api.Model
		if err := recode(redacted(model), &wire); err != nil {
			return nil, err
		}
		out = append(out, wire)
	}
	return append(out, m.table.own()...), nil
}

// redacted returns the model without what its requests carry: headers and options may hold keys.
func redacted(m catalog.Model) catalog.Model {
	m.Request.Headers, m.Request.Body = hidden(m.Request.Headers), showable(m.Request.Body)
	m.API.Settings = nil
	m.Variants = slices.Clone(m.Variants)
	for i, v := range m.Variants {
		m.Variants[i].Headers, m.Variants[i].Body = hidden(v.Headers), showable(v.Body)
	}
	return m
}

// showable returns options without the values of those whose names tell of secrets.
func showable(options map[string]jsontext.Value) map[string]jsontext.Value {
	out := make(map[string]jsontext.Value, len(options))
	for name, v := range options {
		if redact.IsCredentialName(redact.FoldName(name)) {
			v = jsontext.Value(`"` + redact.Mark + `"`)
		}
		out[name] = redact.MaskMembers(v, redact.IsCredentialName)
	}
	return out
}

func hidden(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name := range headers {
		out[name] = "…"
	}
	return out
}

// own returns the models that need no provider: the guide, and the script where there is one.
func (t *modelTable) own() []api.Model {
	models := []api.Model{ownModel(guide.ModelID, "Offline guide (not a language model)")}
	if t.getenv(scriptVariable) != "" {
		models = append(models, ownModel(script.ScriptModel, "Script (not a language model)"))
	}
	return models
}

func ownModel(id, name string) api.Model {
	return api.Model{
		ID: id, ProviderID: script.ProviderID, Name: name,
		API:          api.ModelAPI{ID: id, Type: "native"},
		Capabilities: api.ModelCapabilities{Tools: true, Input: []string{"text"}, Output: []string{"text"}},
		Request:      api.ModelRequestParts{Headers: map[string]string{}, Body: map[string]jsontext.Value{}},
		Variants:     []api.ModelVariant{}, Cost: []api.ModelCost{}, Status: "active", Enabled: true,
	}
}

func (m *locationModels) providers() ([]api.Provider, error) {
	var out []api.Provider
	for _, p := range m.catalog.Providers() {
		if !p.Available || !spoken(p.API) {
			continue
		}
		p.Request.Headers, p.Request.Body, p.API.Settings = hidden(p.Request.Headers), showable(p.Request.Body), nil
		var wire api.Provider
		if err := recode(p, &wire); err != nil {
			return nil, err
		}
		out = append(out, wire)
	}
	var guide api.Provider
	err := recode(catalog.Provider{
		ID: script.ProviderID, Name: "cairn, offline", API: catalog.API{Type: "native", Settings: map[string]jsontext.Value{}},
		Request: catalog.Request{Headers: map[string]string{}, Body: map[string]jsontext.Value{}},
	}, &guide)
	return append(out, guide), err
}

// recode turns a value into another with the same JSON.
func recode(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encode %T: %w", from, err)
	}
	return json.Unmarshal(raw, to)
}
