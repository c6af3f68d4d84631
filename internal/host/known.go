package host

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/session"
)

// modelsOf is what the configuration of o.Dir makes of the catalog, without a store.
func (h Host) modelsOf(ctx context.Context, o cli.Options) (*locationModels, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	cfg, err := h.Config(ctx, o)
	if err != nil {
		return nil, err
	}
	return newModelTable(dirs, o, provider.LateTransport()).of(cfg)
}

// UsableModels implements cli.Host.
func (h Host) UsableModels(ctx context.Context, o cli.Options) ([]api.Model, error) {
	models, err := h.modelsOf(ctx, o)
	if err != nil {
		return nil, err
	}
	return models.list()
}

// Unusable implements cli.Host.
func (h Host) Unusable(ctx context.Context, o cli.Options, id string) (string, error) {
	models, err := h.modelsOf(ctx, o)
	if err != nil {
		return "", err
	}
	return models.lacks(id), nil
}

// KnownModel implements cli.Host.
func (h Host) KnownModel(ctx context.Context, o cli.Options, name string) (*cli.KnownModel, error) {
	models, err := h.modelsOf(ctx, o)
	if err != nil {
		return nil, err
	}
	model, err := models.catalog.Find(name)
	if unknown, ok := errors.AsType[*catalog.UnknownError](err); ok {
		return nil, notKnown(unknown, name)
	}
	if err != nil {
		return nil, err
	}
	known := &cli.KnownModel{Missing: models.missing(model), Dropped: append(slices.Clone(model.Dropped), models.alone(model)...)}
	return known, recode(redacted(model), &known.Model)
}

// alone says which of the vendor's own tools the model's turns go without, since they offer others.
func (m *locationModels) alone(model catalog.Model) []string {
	p, err := m.catalog.Provider(model.ProviderID)
	if err != nil {
		return nil
	}
	vendor, err := m.vendor(p, model.API)
	if err != nil || !vendor.HostedAlone(model.API.ID) {
		return nil
	}
	hosted, _ := vendor.Hosted(m.hosted(model)) // what cannot be had is told when the model is used
	out := make([]string, len(hosted))
	for i, tool := range hosted {
		out[i] = cli.HostedDropped + tool.Name + " goes only with turns that offer no other tools: " + model.API.ID + " does not take both"
	}
	return out
}

// off says by what a model is switched off; "" by nothing.
func off(p catalog.Provider, model catalog.Model) string {
	switch {
	case p.Disabled:
		return p.ID + " is switched off by the configuration (disabled_providers, enabled_providers, experimental.policies)"
	case !model.Enabled && model.Status == catalog.Alpha:
		return "it is in its alpha: such models are not used unless CAIRN_ENABLE_EXPERIMENTAL_MODELS is set"
	case !model.Enabled:
		return "the configuration leaves it out (whitelist, blacklist of provider." + p.ID + ")"
	default:
		return ""
	}
}

// missing says what keeps a model from being used; empty if nothing does.
func (m *locationModels) missing(model catalog.Model) []string {
	p, err := m.catalog.Provider(model.ProviderID)
	switch {
	case err != nil:
		return []string{err.Error()}
	case !spoken(model.API):
		return []string{"its protocol (" + model.API.Package + ") is not known to this cairn"}
	}
	if why := off(p, model); why != "" {
		return []string{why}
	}
	if _, err := m.vendor(p, model.API); err != nil {
		return []string{err.Error()}
	}
	switch {
	case model.Available:
		return nil
	case !m.ready(p.ID, p.Env) && len(p.Env) > 0:
		return []string{p.ID + " has no key: cairn auth login " + p.ID + ", or set " + strings.Join(p.Env, " or ")}
	default:
		return []string{p.ID + " cannot be used yet: cairn doctor provider " + p.ID}
	}
}

// lacks says why no model of a provider can be used, and what to do; "" where some can, or nobody knows the provider.
func (m *locationModels) lacks(id string) string {
	row, known := provider.Find(id)
	if known && row.ID != id {
		return "it is called " + row.ID + " here"
	}
	p, err := m.catalog.Provider(id)
	if err != nil && !known {
		return ""
	}
	models := slices.DeleteFunc(slices.Clone(m.catalog.Models()), func(c catalog.Model) bool { return c.ProviderID != id })
	switch {
	case err == nil && p.Disabled, !m.wanted(id):
		return "it is switched off by the configuration (disabled_providers, enabled_providers, experimental.policies)"
	case len(models) == 0 && known && len(row.KeyEnv) == 0:
		return "no server answers at " + cmp.Or(m.config.Provider[id].BaseURL(), row.BaseURL) + " that offers models; start it, or say in provider." + id + ".options.baseURL where it is and in provider." + id + ".models what it offers"
	case len(models) == 0:
		return "none of its models is known; cairn models --refresh fetches what models.dev knows, or name them in provider." + id + ".models"
	}
	missing := []string{""}
	for _, model := range models { // what keeps the last of them away keeps all away, but for a few that are odd
		if missing = m.missing(model); len(missing) == 0 {
			return ""
		}
	}
	return missing[0]
}
