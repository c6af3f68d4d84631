package models

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/models/catalog"
)

// AvailableModels returns the models that can be used, without secrets: those of the catalog, then the offline ones.
func (m *Set) AvailableModels() (list []catalog.Model) {
	for _, model := range m.Catalog.Available() {
		if IsSupported(model.API) {
			list = append(list, Redact(model))
		}
	}
	return append(list, m.OfflineModels()...)
}

// OfflineModels returns the models that need no provider: the guide, and the embedded ones.
func (m *Set) OfflineModels() []catalog.Model {
	list := []catalog.Model{newOfflineModel(guide.ModelID, "Offline guide (not a language model)")}
	for _, own := range m.Embedded() {
		m := newOfflineModel(own.ID, own.Name)
		if own.Images {
			m.Capabilities.Input = append(m.Capabilities.Input, "image")
		}
		if own.Documents {
			m.Capabilities.Input = append(m.Capabilities.Input, "pdf")
		}
		list = append(list, m)
	}
	return list
}

func newOfflineModel(id, name string) catalog.Model {
	return catalog.Model{
		ID: id, ProviderID: guide.ProviderID, Title: name, API: catalog.API{ID: id, Type: "native"},
		Capabilities: catalog.Capabilities{Tools: true, Input: []string{"text"}, Output: []string{"text"}},
		Status:       catalog.Active, Enabled: true,
	}
}

// OfflineProvider returns the provider of the offline models.
func OfflineProvider() catalog.Provider {
	return catalog.Provider{
		ID: guide.ProviderID, Name: "cairn, offline",
		API: catalog.API{Type: "native", Settings: map[string]jsontext.Value{}},
	}
}

// AvailableProviders returns the providers that can be used, without secrets.
func (m *Set) AvailableProviders() (list []catalog.Provider) {
	for _, p := range m.Catalog.Providers() {
		if !p.Available || !IsSupported(p.API) {
			continue
		}
		p.Request.Headers, p.Request.Body = redactHeaders(p.Request.Headers), redactOptions(p.Request.Body)
		p.API.Settings = nil
		list = append(list, p)
	}
	return append(list, OfflineProvider())
}

// HostedDropped begins what ListDropped says of tools of the vendor's that a model goes without.
const HostedDropped = "hosted_tools: "

// ListDropped returns the options of a model that are not sent, and why.
func (m *Set) ListDropped(model catalog.Model) []string {
	dropped := slices.Clone(model.Dropped)
	for _, tool := range m.ExclusiveHostedTools(model) {
		dropped = append(dropped, fmt.Sprintf("%s%s is used only in turns without other tools: %s does not take both",
			HostedDropped, tool, model.API.ID))
	}
	return dropped
}

// Redact returns the model without the values that its requests send: headers and options may hold keys.
func Redact(m catalog.Model) catalog.Model {
	m.Request.Headers, m.Request.Body = redactHeaders(m.Request.Headers), redactOptions(m.Request.Body)
	m.API.Settings = nil
	m.Variants = slices.Clone(m.Variants)
	for i, v := range m.Variants {
		m.Variants[i].Headers, m.Variants[i].Body = redactHeaders(v.Headers), redactOptions(v.Body)
	}
	return m
}

// redactOptions returns options without the values of those that are named like secrets.
func redactOptions(options map[string]jsontext.Value) map[string]jsontext.Value {
	out := make(map[string]jsontext.Value, len(options))
	for name, v := range options {
		if redact.IsCredentialName(redact.FoldName(name)) {
			v = jsontext.Value(`"` + redact.Mark + `"`)
		}
		out[name] = redact.MaskMembers(v, redact.IsCredentialName)
	}
	return out
}

func redactHeaders(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name := range headers {
		out[name] = "…"
	}
	return out
}
