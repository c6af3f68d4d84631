package models

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/session"
)

// Default implements scope.Models: the configured model, else the first embedded one, else the newest usable one, else the offline guide. A
// configured name without a provider is an error with the models of that name.
func (m *Set) Default() (session.ModelRef, error) {
	if name := m.Config.Model.BareName(); name != "" {
		e := session.NotFound("model", name, m.namesEndingIn(name)...).At("model")
		e.Message += "; the setting model needs its provider, as in provider/model, or choose one with --model"
		return session.ModelRef{}, e
	}
	if own := m.pool.embedded; len(own) > 0 && m.Config.Model == "" {
		return session.ModelRef{ID: own[0].ID, ProviderID: guide.ProviderID}, nil
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
	return session.ModelRef{ID: guide.ModelID, ProviderID: guide.ProviderID}, nil
}

// namesEndingIn returns the known models, usable ones first, whose id is the name, at most three.
func (m *Set) namesEndingIn(name string) (names []string) {
	for _, list := range [][]catalog.Model{m.Catalog.Available(), m.Catalog.Models()} {
		for _, model := range list {
			if full := model.ProviderID + "/" + model.ID; len(names) < 3 && strings.HasSuffix(full, "/"+name) &&
				!slices.Contains(names, full) {
				names = append(names, full)
			}
		}
	}
	return names
}

// FindBare returns the usable model that a name without a provider means: its id, or a family such as sonnet. A model
// of the configured provider comes first, then the newest.
func (m *Set) FindBare(name string) *session.ModelRef {
	name, _, _ = strings.Cut(strings.ToLower(name), "[") // as in sonnet[1m]
	var best *catalog.Model
	for _, model := range m.Catalog.Available() {
		id := strings.ToLower(model.ID)
		exact := id == name || strings.HasSuffix(id, "/"+name)
		family := slices.Contains([]string{"sonnet", "opus", "haiku"}, name) && strings.Contains(id, "claude") &&
			strings.Contains(id, name)
		if !IsSupported(model.API) || !exact && !family {
			continue
		}
		if best == nil || m.isPreferred(model, *best) {
			best = &model
		}
	}
	if best == nil {
		return nil
	}
	return &session.ModelRef{ID: best.ID, ProviderID: best.ProviderID}
}

// isPreferred reports whether a is a better choice than b for a name that means both.
func (m *Set) isPreferred(a, b catalog.Model) bool {
	if ref := m.Config.Model.Ref(); ref != nil && (a.ProviderID == ref.ProviderID) != (b.ProviderID == ref.ProviderID) {
		return a.ProviderID == ref.ProviderID
	}
	return cmp.Or(cmp.Compare(a.Time.Released, b.Time.Released), cmp.Compare(b.ProviderID, a.ProviderID)) > 0
}

// SmallModel returns the model for titles and summaries of a session that uses the model main: the configured one,
// else a cheap one of the same provider and maker, else main itself, each with the least reasoning that its
// options allow. Offline models have none.
func (m *Set) SmallModel(main session.ModelRef) (session.ModelRef, bool) {
	if main.ProviderID == guide.ProviderID {
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
	for _, model := range m.Catalog.ModelsOf(providerID) {
		if model.Enabled && IsSupported(model.API) {
			return model, true
		}
	}
	return catalog.Model{}, false
}

// SupportedModels returns the enabled models of a provider whose protocol cairn supports.
func (m *Set) SupportedModels(providerID string) []catalog.Model {
	return slices.DeleteFunc(slices.Clone(m.Catalog.ModelsOf(providerID)), func(c catalog.Model) bool {
		return !c.Enabled || !IsSupported(c.API)
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
