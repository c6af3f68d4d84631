package models

import (
	"errors"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/models/catalog"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/session"
)

// Resolve implements scope.Models.
func (m *Set) Resolve(ref session.ModelRef, a session.Agent) (*scope.Model, error) {
	// The offline guide needs no catalog, client or key.
	if ref.ProviderID == guide.ProviderID {
		model, err := m.pool.offlineModel(ref)
		if err == nil && ref.Variant != "" && ref.Variant != "default" {
			err = variantNotFound(ref)
		}
		return model, err
	}
	if whole := ref.ID + "#" + ref.Variant; ref.Variant != "" { // an id may have the sign that begins a variant
		if _, ok := m.Catalog.LookUp(ref.ProviderID, whole); ok {
			ref.ID, ref.Variant = whole, ""
		}
	}
	// Find the model and its variant.
	model, err := m.Catalog.Model(ref.ProviderID, ref.ID)
	if unknown, ok := errors.AsType[*catalog.UnknownError](err); ok {
		return nil, m.explainUnknown(unknown, ref)
	}
	if err != nil {
		return nil, err
	}
	variant, ok := model.Variant(ref.Variant)
	if !ok {
		return nil, variantNotFound(ref, variantNames(model)...)
	}
	// Make the client and merge the options. The agent's win over the variant's, and those over the model's.
	client, hosted, err := m.newClient(model)
	if err != nil {
		return nil, err
	}
	o := model.Options(variant.Body, a.Request.Body)
	if o.Generate.MaxTokens == 0 {
		o.Generate.MaxTokens = int(min(model.Limit.Output, m.pool.outputCap()))
	}
	if a.Hidden && !model.Temperature {
		o.Generate.Temperature = nil // cairn's own agents prefer one, and do without
	}
	headers := maps.Clone(model.Request.Headers)
	maps.Copy(headers, variant.Headers)
	maps.Copy(headers, a.Request.Headers)
	// Requests to one provider share a limit across all its models.
	limited := m.pool.requests.limitRequests(client, ref.ProviderID, int(m.Config.Limits.Requests))
	return &scope.Model{
		Ref: ref, Client: limited, APIName: model.API.ID, System: agent.ForModel(a, ref, model.API.ID),
		Generate: o.Generate, Options: o.Semantic, Body: o.Body, Headers: headers,
		Clocks: m.Config.ProviderClocks(ref.ProviderID),
		Window: scope.Limits{
			Context: model.Limit.Context, Input: model.Limit.Input,
			Output: model.Limit.Output,
		},
		TokensPerByte: m.pool.calibration.FindRatio(ref),
		Images:        model.AcceptsInput("image"), Documents: model.AcceptsInput("pdf"), NoTools: !model.Capabilities.Tools,
		Forms: client.SchemaSupport(), SupportsSchema: client.SupportsSchema, Hosted: hosted,
		HostedExclusive: client.HostedExclusive(),
		// A charge that the provider reports is exact; else the catalog's prices give an estimate.
		Cost: func(u llm.Usage) (session.USD, bool) {
			if u.Billed != nil {
				return session.USD(*u.Billed), true
			}
			return session.USD(model.Cost(u)), model.IsPriced()
		},
		Unpriced: !model.IsPriced(), ReportsCharge: client.ReportsCharge(),
	}, nil
}

// variantNotFound returns the session error for a variant that the model does not have.
func variantNotFound(ref session.ModelRef, offered ...string) error {
	e := session.NotFound("variant", ref.Variant, offered...).At("model.variant")
	if len(offered) == 0 {
		e.Message += fmt.Sprintf(": %s/%s has no variants", ref.ProviderID, ref.ID)
	}
	return e
}

func variantNames(m catalog.Model) []string {
	names := make([]string, len(m.Variants))
	for i, v := range m.Variants {
		names[i] = v.ID
	}
	return names
}

// keyAdvice names the place of a provider's key in the configuration, which is used before a stored one; "" without
// one.
func (m *Set) keyAdvice(provider string) string {
	key := "provider." + provider + ".options.apiKey"
	if found := m.Config.Explain(key); len(found) > 0 && !m.Config.Provider[provider].Options.APIKey.IsZero() {
		return session.KeyPlaceMark + found[0].Source.String() + " (" + key + ")"
	}
	return ""
}

// placeOf says behind a message where the configuration has a key; "" if it has not.
func (m *Set) placeOf(key string) string {
	if found := m.Config.Explain(key); len(found) > 0 {
		return "; see " + key + " in " + found[0].Source.String()
	}
	return ""
}

// newClient returns a client for the model, and the definitions of the tools that the vendor runs itself. Clients share
// connections.
func (m *Set) newClient(model catalog.Model) (*provider.Model, []llm.ToolDefinition, error) {
	// Check what needs no key: the protocol, the provider, its address and the hosted tools.
	if !IsSupported(model.API) {
		return nil, nil, invalidModel(
			"%s uses a protocol that cairn does not support (%s)",
			model.Name(),
			model.API.Package,
		)
	}
	p, err := m.Catalog.Provider(model.ProviderID)
	if err != nil {
		return nil, nil, err
	}
	if why := disabledReason(p, model); why != "" {
		return nil, nil, invalidModel("%s cannot be used: %s", model.Name(), why)
	}
	vendor, err := m.Endpoint(p, model.API)
	if err != nil {
		return nil, nil, invalidModel("%v", err)
	}
	configured := m.hostedTools(model)
	hosted, err := vendor.DeclareHosted(configured)
	if err != nil {
		return nil, nil, invalidModel("hosted_tools: %v", err)
	}
	// Find the key, and build the client.
	key, credential, err := m.credentialFor(vendor, p.Env)
	if err != nil {
		return nil, nil, err
	}
	transport := m.pool.Transport
	if own := m.transports[p.ID]; own != nil {
		transport, credential = own, nil
	}
	client, err := provider.New(provider.Config{
		Vendor: vendor, Key: key, KeyAdvice: m.keyAdvice(p.ID), Credential: credential, Transport: transport,
		Headers: m.Config.Provider[p.ID].Options.Headers, Facts: wireFacts(model, m.settingsFor(p.ID)),
		Cures: &m.pool.cures,
	})
	// The message names the next step, and the stored entry if that is the reason.
	if errors.Is(err, provider.ErrBaseURL) {
		return nil, nil, invalidModel("%v%s", err, m.placeOf("provider."+p.ID+".options.baseURL"))
	}
	if err != nil {
		why := fmt.Sprintf("%v (cairn auth login %s)", err, p.ID)
		if invalid := m.pool.Auth.CheckEntry(p.ID); invalid != nil {
			why += "; " + invalid.Error()
		}
		return nil, nil, invalidModel("%s", why)
	}
	return client, hosted, nil
}

func invalidModel(format string, args ...any) error {
	return session.Errorf(session.CodeInvalid, format, args...).At("model")
}

// hostedTools returns the tools of the vendor that are configured for the model, else for its provider.
func (m *Set) hostedTools(model catalog.Model) []jsontext.Value {
	p := m.Config.Provider[model.ProviderID]
	if tools := p.Models[model.ID].Hosted; tools != nil {
		return tools
	}
	return p.Hosted
}

// wireFacts returns what the requests of a model depend on. The provider's option supportsStructuredOutputs holds for
// models for which the catalog does not say it.
func wireFacts(model catalog.Model, s settings) provider.Facts {
	f := provider.Facts{
		ModelID: model.API.ID, Reasoning: model.Reasoning, ReasoningField: model.ReasoningField,
		StructuredOutput: model.Structured,
	}
	if supported, isSet := s.getFlag("supportsStructuredOutputs"); isSet && f.StructuredOutput == nil {
		f.StructuredOutput = &supported
	}
	return f
}
