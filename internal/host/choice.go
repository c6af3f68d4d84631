package host

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

// small is location.Scope.Small: the configured model, else a cheap one of the provider, else the model beside it, each
// with as little thinking as it can be told to. Models that need no provider stay among themselves.
func (m *locationModels) small(beside session.ModelRef) (session.ModelRef, bool) {
	if beside.ProviderID == script.ProviderID {
		return session.ModelRef{}, false
	}
	best, ok := m.catalog.Small(beside.ProviderID, time.Now())
	if !ok || !spoken(best.API) {
		var err error
		if best, err = m.catalog.Model(beside.ProviderID, beside.ID); err != nil {
			return session.ModelRef{}, false
		}
	}
	ref := session.ModelRef{ID: best.ID, ProviderID: best.ProviderID}
	if names := variantNames(best); len(names) > 0 {
		ref.Variant = names[0]
	}
	return ref, true
}

// Default implements location.Models: the configured model, else the newest usable one, else the offline guide.
func (m *locationModels) Default() (session.ModelRef, error) {
	if m.table.getenv(scriptVariable) != "" && m.config.Model == "" {
		return session.ModelRef{ID: script.ScriptModel, ProviderID: script.ProviderID}, nil
	}
	if ref := m.config.Model.Ref(); ref != nil {
		return *ref, nil
	}
	best, err := m.catalog.Default()
	if err == nil && spoken(best.API) {
		return session.ModelRef{ID: best.ID, ProviderID: best.ProviderID}, nil
	}
	for _, model := range m.catalog.Available() {
		if spoken(model.API) && model.Capabilities.Tools && m.catalog.Chosen(model.ProviderID) {
			return session.ModelRef{ID: model.ID, ProviderID: model.ProviderID}, nil
		}
	}
	return session.ModelRef{ID: guide.ModelID, ProviderID: script.ProviderID}, nil
}

// usable returns the provider's models whose protocol is spoken here.
func (m *locationModels) usable(providerID string) []catalog.Model {
	return slices.DeleteFunc(slices.Clone(m.catalog.Models()), func(c catalog.Model) bool {
		return c.ProviderID != providerID || !c.Enabled || !spoken(c.API)
	})
}

// wanted reports whether the configuration lets the provider be used.
func (m *locationModels) wanted(providerID string) bool {
	on, off := m.config.EnabledProviders, m.config.DisabledProviders
	return (len(on) == 0 || slices.Contains(on, providerID)) && !slices.Contains(off, providerID)
}

// first names the model of a provider that is taken if nobody chooses: the configured one, else its newest.
func (m *locationModels) first(providerID string) string {
	if ref := m.config.Model.Ref(); ref != nil && ref.ProviderID == providerID {
		return ref.ID
	}
	return slices.MaxFunc(m.usable(providerID), func(a, b catalog.Model) int {
		return cmp.Or(cmp.Compare(a.Time.Released, b.Time.Released), strings.Compare(b.ID, a.ID))
	}).ID
}
