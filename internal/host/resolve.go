package host

import (
	"errors"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/agent"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/session"
)

// Resolve implements location.Models.
func (m *locationModels) Resolve(ref session.ModelRef, a session.Agent) (*location.Model, error) {
	if ref.ProviderID == script.ProviderID {
		model, err := m.table.builtin(ref)
		if err == nil && ref.Variant != "" && ref.Variant != "default" {
			err = noVariant(ref)
		}
		return model, err
	}
	model, err := m.catalog.Model(ref.ProviderID, ref.ID)
	if unknown, ok := errors.AsType[*catalog.UnknownError](err); ok {
		return nil, m.notKnownHere(unknown, ref)
	}
	if err != nil {
		return nil, err
	}
	variant, ok := model.Variant(ref.Variant)
	if !ok {
		return nil, noVariant(ref, variantNames(model)...)
	}
	client, hosted, err := m.client(model)
	if err != nil {
		return nil, err
	}
	o := model.Options(variant.Body, a.Request.Body)
	if o.Generate.MaxTokens == 0 {
		o.Generate.MaxTokens = int(min(model.Limit.Output, m.table.outputCap()))
	}
	if a.Hidden && !model.Temperature {
		o.Generate.Temperature = nil // that of our own agents is a wish
	}
	headers := maps.Clone(model.Request.Headers)
	maps.Copy(headers, variant.Headers)
	maps.Copy(headers, a.Request.Headers)
	return &location.Model{
		Ref: ref, Client: client, APIName: model.API.ID, System: agent.ForModel(a, ref, model.API.ID), Generate: o.Generate, Options: o.Semantic, Body: o.Body, Headers: headers,
		Clocks: m.config.ProviderClocks(ref.ProviderID), Context: model.Limit.Context, Output: model.Limit.Output,
		Images: model.Reads("image"), Documents: model.Reads("pdf"), NoTools: !model.Capabilities.Tools, Forms: client.Forms(), SupportsSchema: client.Holds, Hosted: hosted, HostedExclusive: client.HostedAlone(),
		Cost: func(u llm.Usage) session.USD {
			if u.Billed != nil {
				return session.USD(*u.Billed)
			}
			return session.USD(model.Cost(u))
		},
	}, nil
}

// notKnownHere is notKnown for a model that is to be used: where none of the provider's can be, it says why.
func (m *locationModels) notKnownHere(e *catalog.UnknownError, ref session.ModelRef) error {
	out := notKnown(e, ref.String())
	if why := m.lacks(ref.ProviderID); why != "" && e.Misread == "" {
		out.Message = fmt.Sprintf("there is no model %q, and no other of %s can be used: %s", ref.String(), ref.ProviderID, why)
	}
	return out.At("model")
}

// notKnown words that the catalog has no provider or model of the name.
func notKnown(e *catalog.UnknownError, name string) *session.Error {
	out := session.NotFound(e.Kind, name, e.Nearest...)
	if e.Misread != "" {
		out.Message = fmt.Sprintf("the %s %q is listed, but cannot be read: %s", e.Kind, name, e.Misread)
	}
	return out
}

// noVariant says that the model has no such variant, and which it has.
func noVariant(ref session.ModelRef, has ...string) error {
	e := session.NotFound("variant", ref.Variant, has...).At("model.variant")
	if len(has) == 0 {
		e.Message += fmt.Sprintf(": %s/%s has none", ref.ProviderID, ref.ID)
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

// client makes the model's connection to its vendor, and declares the tools that this runs itself. Connections themselves
// are shared.
func (m *locationModels) client(model catalog.Model) (*provider.Model, []llm.ToolDefinition, error) {
	if !spoken(model.API) {
		return nil, nil, session.Errorf(session.CodeInvalid, "%s speaks a protocol that this cairn does not know yet (%s)", model.Name(), model.API.Package).At("model")
	}
	p, err := m.catalog.Provider(model.ProviderID)
	if err != nil {
		return nil, nil, err
	}
	if why := off(p, model); why != "" {
		return nil, nil, session.Errorf(session.CodeInvalid, "%s cannot be used: %s", model.Name(), why).At("model")
	}
	vendor, err := m.vendor(p, model.API)
	if err != nil {
		return nil, nil, session.Errorf(session.CodeInvalid, "%v", err).At("model")
	}
	wanted := m.hosted(model)
	if len(wanted) > 0 && vendor.HostedWire != "" {
		vendor.Wire = vendor.HostedWire
	}
	hosted, err := vendor.Hosted(wanted)
	if err != nil {
		return nil, nil, session.Errorf(session.CodeInvalid, "hosted_tools: %v", err).At("model")
	}
	key, credential, err := m.credential(vendor, p.Env)
	if err != nil {
		return nil, nil, err
	}
	client, err := provider.New(provider.Config{
		Vendor: vendor, Key: key, Credential: credential, Transport: m.table.transport, Headers: m.config.Provider[p.ID].Options.Headers,
		Facts: facts(model, m.settings(p.ID)),
	})
	if err != nil {
		why := fmt.Sprintf("%v (cairn auth login %s)", err, p.ID)
		if wrong := m.table.auth.Wrong(p.ID); wrong != nil {
			why += "; " + wrong.Error()
		}
		return nil, nil, session.Errorf(session.CodeInvalid, "%s", why).At("model")
	}
	return client, hosted, nil
}

// hosted are the tools of the vendor's that are configured for the model, else for its provider.
func (m *locationModels) hosted(model catalog.Model) []jsontext.Value {
	p := m.config.Provider[model.ProviderID]
	if own := p.Models[model.ID].Hosted; own != nil {
		return own
	}
	return p.Hosted
}

// facts are what the model's wire depends on. Whether answers can be held to a schema, the provider's option says for
// models of which nothing else does.
func facts(model catalog.Model, s settings) provider.Facts {
	f := provider.Facts{ModelID: model.API.ID, Reasoning: model.Reasoning, ReasoningField: model.ReasoningField, Structured: model.Structured}
	if able, said := s.flag("supportsStructuredOutputs"); said && f.Structured == nil {
		f.Structured = &able
	}
	return f
}

// spoken reports whether the protocol by which a model is reached is one that package provider speaks.
func spoken(api catalog.API) bool {
	wire, known := provider.WireOf(api.Package, api.ID)
	return known && wire.Spoken()
}
