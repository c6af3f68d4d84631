package models

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/session"
)

// Default implements location.Models: the configured model, else the newest usable one, else the offline guide.
func (m *Set) Default() (session.ModelRef, error) {
	if m.pool.getenv(ScriptVariable) != "" && m.Config.Model == "" {
		return session.ModelRef{ID: script.ScriptModel, ProviderID: script.ProviderID}, nil
	}
	if ref := m.Config.Model.Ref(); ref != nil {
		return *ref, nil
	}
	best, err := m.Catalog.Default()
	if err == nil && IsSupported(best.API) {
		return session.ModelRef{ID: best.ID, ProviderID: best.ProviderID}, nil
	}
	for _, model := range m.Catalog.Available() {
		if IsSupported(model.API) && model.Capabilities.Tools && m.Catalog.IsChosen(model.ProviderID) {
			return session.ModelRef{ID: model.ID, ProviderID: model.ProviderID}, nil
		}
	}
	return session.ModelRef{ID: guide.ModelID, ProviderID: script.ProviderID}, nil
}

// SmallModel returns the model for titles and summaries of a session that uses the model main: the configured one,
// else a cheap one of the same provider and maker, else main itself, each with the least reasoning that its
// options allow. Offline models have none.
func (m *Set) SmallModel(main session.ModelRef) (session.ModelRef, bool) {
	if main.ProviderID == script.ProviderID {
		return session.ModelRef{}, false
	}
	model, err := m.Catalog.Model(main.ProviderID, main.ID)
	if err != nil {
		return session.ModelRef{}, false
	}
	best, ok := m.Catalog.SmallModel(model, time.Now())
	if !ok || !IsSupported(best.API) {
		best = model
	}
	return session.ModelRef{ID: best.ID, ProviderID: best.ProviderID, Variant: catalog.LeastReasoning}, true
}

// CheapestModel returns the model that a probe of the provider asks: the configured one, a small one, or any.
func (m *Set) CheapestModel(providerID string) (catalog.Model, bool) {
	if ref := m.Config.Model.Ref(); ref != nil && ref.ProviderID == providerID {
		if model, err := m.Catalog.Model(providerID, ref.ID); err == nil {
			return model, true
		}
	}
	model, ok := m.Catalog.SmallModel(catalog.Model{ProviderID: providerID}, time.Now())
	if ok && model.ProviderID == providerID {
		return model, true
	}
	for _, model := range m.Catalog.Models() {
		if model.ProviderID == providerID && model.Enabled && IsSupported(model.API) {
			return model, true
		}
	}
	return catalog.Model{}, false
}

// SupportedModels returns the enabled models of a provider whose protocol cairn supports.
func (m *Set) SupportedModels(providerID string) []catalog.Model {
	return slices.DeleteFunc(slices.Clone(m.Catalog.Models()), func(c catalog.Model) bool {
		return c.ProviderID != providerID || !c.Enabled || !IsSupported(c.API)
	})
}

// DefaultModelOf returns the id of the provider's model that is used if none is named: the configured one, else its
// newest, as Catalog.Default has it. The provider has supported models.
func (m *Set) DefaultModelOf(providerID string) string {
	if ref := m.Config.Model.Ref(); ref != nil && ref.ProviderID == providerID {
		return ref.ID
	}
	all := m.SupportedModels(providerID)
	if best := m.Catalog.SelectMainMakers(all); len(best) > 0 {
		all = best
	}
	return slices.MaxFunc(all, func(a, b catalog.Model) int {
		return cmp.Or(cmp.Compare(a.Time.Released, b.Time.Released), strings.Compare(b.ID, a.ID))
	}).ID
}

// IsProviderEnabled reports whether enabled_providers and disabled_providers leave the provider on.
func (m *Set) IsProviderEnabled(providerID string) bool {
	on, off := m.Config.EnabledProviders, m.Config.DisabledProviders
	return (len(on) == 0 || slices.Contains(on, providerID)) && !slices.Contains(off, providerID)
}
