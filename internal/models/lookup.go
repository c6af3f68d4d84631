package models

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/session"
)

const disabledByConfig = "it is disabled by the configuration " +
	"(disabled_providers, enabled_providers, experimental.policies)"

// Find returns what is known of a model, usable or not, or a CodeNotFound error. name is provider/model or a model
// alone.
func (m *Set) Find(name string) (catalog.Model, error) {
	model, err := m.Catalog.Find(name)
	if unknown, ok := errors.AsType[*catalog.UnknownError](err); ok {
		return catalog.Model{}, m.NotFoundError(unknown, name)
	}
	return model, err
}

// NotFoundError returns the session error for a provider or model that the catalog does not have.
func (m *Set) NotFoundError(e *catalog.UnknownError, name string) *session.Error {
	out := session.NotFound(e.Kind, name, e.Nearest...)
	days := int(m.pool.FactsAge().Hours() / 24)
	switch {
	case e.Misread != "":
		out.Message = fmt.Sprintf("the %s %q is listed, but cannot be read: %s", e.Kind, name, e.Misread)
	case days > 0 && m.pool.FetchDisabledReason() == "":
		out.Message += fmt.Sprintf("; the list is %d days old: cairn models --refresh fetches the newest", days)
	case len(e.Nearest) == 0:
		out.Message += "; cairn models lists the usable models"
	}
	return out
}

// explainUnknown is NotFoundError for a model that a session wants to use. If no model of the provider can be used, it
// says why.
func (m *Set) explainUnknown(e *catalog.UnknownError, ref session.ModelRef) error {
	if why := m.WhyUnusable(ref.ProviderID); why != "" && e.Misread == "" {
		out := session.NotFound(e.Kind, ref.String()) // no other model is worth a suggestion
		out.Message += fmt.Sprintf(", and no other model of %s can be used: %s", ref.ProviderID, why)
		return out.At("model")
	}
	return m.NotFoundError(e, ref.String()).At("model")
}

// WhyUnusable says why no model of a provider can be used, and what to do about it. It returns "" if some can, or if
// the provider is unknown.
func (m *Set) WhyUnusable(providerID string) string {
	// Another tool's name for the provider leads to cairn's.
	row, known := provider.Find(providerID)
	if known && row.ID != providerID {
		return "its id in cairn is " + row.ID
	}
	p, err := m.Catalog.Provider(providerID)
	if err != nil && !known {
		return ""
	}
	// Find the reason, from the general one to that of a single model: disabled, no models, something missing.
	models := m.Catalog.ModelsOf(providerID)
	switch {
	case err == nil && p.Disabled, !m.IsProviderEnabled(providerID):
		return disabledByConfig
	case len(models) == 0 && known && len(row.KeyEnv) == 0:
		address := cmp.Or(m.Config.Provider[providerID].BaseURL(), row.BaseURL)
		return fmt.Sprintf(
			"no server at %s offers models; start it, or set provider.%s.options.baseURL to its address "+
				"and provider.%[2]s.models to what it offers",
			address,
			providerID,
		)
	case len(models) == 0:
		return "no models are known for it; run cairn models --refresh to fetch the list of models.dev, " +
			"or name them in provider." + providerID + ".models"
	}
	// Return what the models lack, unless one of them is usable.
	missing := []string{""}
	for _, model := range models { // with few exceptions, all are unusable for the reason of the last
		if missing = m.MissingFor(model); len(missing) == 0 {
			return ""
		}
	}
	return missing[0]
}

// MissingFor says what keeps a model from being used; nil if nothing does.
func (m *Set) MissingFor(model catalog.Model) []string {
	p, err := m.Catalog.Provider(model.ProviderID)
	switch {
	case err != nil:
		return []string{err.Error()}
	case !IsSupported(model.API):
		return []string{"its protocol (" + model.API.Package + ") is not supported"}
	}
	if why := disabledReason(p, model); why != "" {
		return []string{why}
	}
	if _, err := m.Endpoint(p, model.API); err != nil {
		return []string{err.Error()}
	}
	switch {
	case model.Available:
		return nil
	case !m.IsReady(p.ID, p.Env) && len(p.Env) > 0:
		return []string{p.ID + " has no key: run cairn auth login " + p.ID + ", or set " + strings.Join(p.Env, " or ")}
	default:
		return []string{p.ID + " cannot be used yet: run cairn doctor provider " + p.ID}
	}
}

// disabledReason says what disables a model; "" if nothing does.
func disabledReason(p catalog.Provider, model catalog.Model) string {
	switch {
	case p.Disabled:
		return p.ID + " is disabled by the configuration (disabled_providers, enabled_providers, experimental.policies)"
	case !model.Enabled && model.Status == catalog.Alpha:
		return "it is an alpha: set CAIRN_ENABLE_EXPERIMENTAL_MODELS to use such models"
	case !model.Enabled:
		return "the configuration leaves it out (whitelist, blacklist of provider." + p.ID + ")"
	default:
		return withheldReason(p, model)
	}
}

// withheldReason says why nothing is sent to a provider or model, and what the user has to configure; "" if nothing is
// withheld.
func withheldReason(p catalog.Provider, m catalog.Model) string {
	switch {
	case p.Withheld != nil:
		return describeWithheld(p.Withheld, "provider."+p.ID+".options.baseURL", "provider."+p.ID+".env")
	case m.Withheld != nil:
		return describeWithheld(m.Withheld, "provider."+p.ID+".models."+m.ID+".provider.api", "")
	default:
		return ""
	}
}

// describeWithheld says which settings of the user replace what is withheld.
func describeWithheld(w *catalog.Withheld, address, variables string) string {
	var list strings.Builder
	fmt.Fprintf(&list, "its address (%.200q) is only known from a fetched list, which may not choose where keys "+
		"and prompts go: if you trust it, set %s to it", w.URL, address)
	if len(w.Env) > 0 && variables != "" {
		fmt.Fprintf(&list, " and %s to the variables that hold its key (the list names %.200q)", variables, w.Env)
	}
	return list.String()
}

// ExclusiveHostedTools names the configured tools of the vendor that the model's turns do without, because the model
// does not take them together with other tools.
func (m *Set) ExclusiveHostedTools(model catalog.Model) []string {
	p, err := m.Catalog.Provider(model.ProviderID)
	if err != nil {
		return nil
	}
	vendor, err := m.Endpoint(p, model.API)
	if err != nil || !vendor.HostedExclusive(model.API.ID) {
		return nil
	}
	hosted, _ := vendor.DeclareHosted(m.hostedTools(model)) // Resolve reports the error
	names := make([]string, len(hosted))
	for i, tool := range hosted {
		names[i] = tool.Name
	}
	return names
}

// IsSupported reports whether cairn supports the protocol by which a model is reached.
func IsSupported(api catalog.API) bool {
	wire, known := provider.WireOfPackage(api.Package, api.ID)
	return known && wire.IsSupported()
}
