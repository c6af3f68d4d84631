package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/session"
)

// newPool returns the models of this process, for commands that run without an owner.
func newPool(o cli.Options) (*models.Pool, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return models.NewPool(models.Options{
		Dirs: dirs, Getenv: o.Env, Version: o.Version, Transport: provider.NewLazyTransport(), Embedded: o.Embedded,
	}), nil
}

// buildModels returns the models of the configuration of o.Dir, without a store.
func (h Host) buildModels(ctx context.Context, o cli.Options) (*models.Set, error) {
	pool, err := newPool(o)
	if err != nil {
		return nil, err
	}
	cfg, err := h.Config(ctx, o)
	if err != nil {
		return nil, err
	}
	return pool.Build(cfg)
}

// UsableModels implements cli.Host.
func (h Host) UsableModels(ctx context.Context, o cli.Options) ([]api.Model, error) {
	set, err := h.buildModels(ctx, o)
	if err != nil {
		return nil, err
	}
	return listModels(set)
}

// WhyUnusable implements cli.Host.
func (h Host) WhyUnusable(ctx context.Context, o cli.Options, id string) (string, error) {
	set, err := h.buildModels(ctx, o)
	if err != nil {
		return "", err
	}
	return set.WhyUnusable(id), nil
}

// KnownModel implements cli.Host.
func (h Host) KnownModel(ctx context.Context, o cli.Options, name string) (*cli.KnownModel, error) {
	set, err := h.buildModels(ctx, o)
	if err != nil {
		return nil, err
	}
	model, err := set.Find(name)
	if err != nil {
		return nil, err
	}
	known := &cli.KnownModel{Missing: set.MissingFor(model), Dropped: slices.Clone(model.Dropped)}
	for _, tool := range set.ExclusiveHostedTools(model) {
		known.Dropped = append(known.Dropped, fmt.Sprintf("%s%s is used only in turns without other tools: "+
			"%s does not take both", cli.HostedDropped, tool, model.API.ID))
	}
	return known, convert(redactModel(model), &known.Model)
}

// KnownModels implements cli.Host.
func (h Host) KnownModels(ctx context.Context, o cli.Options) ([]cli.KnownModel, error) {
	set, err := h.buildModels(ctx, o)
	if err != nil {
		return nil, err
	}
	all := []cli.KnownModel{}
	for _, model := range set.Catalog.Models() {
		if !model.Enabled {
			continue
		}
		known := cli.KnownModel{Missing: set.MissingFor(model)}
		if err := convert(redactModel(model), &known.Model); err != nil {
			return nil, err
		}
		all = append(all, known)
	}
	return all, nil
}

// RefreshModels implements cli.Host.
func (h Host) RefreshModels(ctx context.Context, o cli.Options) (bool, error) {
	pool, err := newPool(o)
	if err != nil {
		return false, err
	}
	if why := pool.FetchDisabledReason(); why != "" {
		return false, session.Errorf(session.CodeInvalid, "the list of models is not fetched: %s", why)
	}
	changed, err := pool.Facts.Refresh(ctx)
	if err != nil {
		return false, session.Errorf(session.CodeUnavailable, "%v; the current list stays in use", err)
	}
	return changed, nil
}

// Login implements cli.Host.
func (h Host) Login(ctx context.Context, o cli.Options, id string, say func(url, code string)) error {
	pool, err := newPool(o)
	if err != nil {
		return err
	}
	cfg, err := h.Config(ctx, o)
	if err != nil {
		return err
	}
	return pool.LogIn(ctx, cfg, id, say)
}

// listModels returns the models that can be used, without secrets.
func listModels(set *models.Set) ([]api.Model, error) {
	var out []api.Model
	for _, model := range set.Catalog.Available() {
		if !models.IsSupported(model.API) {
			continue
		}
		var wire api.Model
		if err := convert(redactModel(model), &wire); err != nil {
			return nil, err
		}
		out = append(out, wire)
	}
	return append(out, offlineModels(set)...), nil
}

// offlineModels returns the models that need no provider: the guide, and the embedded one.
func offlineModels(set *models.Set) []api.Model {
	list := []api.Model{offlineModel(guide.ModelID, "Offline guide (not a language model)")}
	if own := set.Embedded(); own != nil {
		list = append(list, offlineModel(own.ID, own.Name))
	}
	return list
}

func offlineModel(id, name string) api.Model {
	return api.Model{
		ID: id, ProviderID: guide.ProviderID, Name: name,
		API:          api.ModelAPI{ID: id, Type: "native"},
		Capabilities: api.ModelCapabilities{Tools: true, Input: []string{"text"}, Output: []string{"text"}},
		Request:      api.ModelRequestParts{Headers: map[string]string{}, Body: map[string]jsontext.Value{}},
		Variants:     []api.ModelVariant{}, Cost: []api.ModelCost{}, Status: "active", Enabled: true,
	}
}

// listProviders returns the providers that can be used, without secrets.
func listProviders(set *models.Set) ([]api.Provider, error) {
	var out []api.Provider
	for _, p := range set.Catalog.Providers() {
		if !p.Available || !models.IsSupported(p.API) {
			continue
		}
		p.Request.Headers, p.Request.Body = redactHeaders(p.Request.Headers), redactOptions(p.Request.Body)
		p.API.Settings = nil
		var wire api.Provider
		if err := convert(p, &wire); err != nil {
			return nil, err
		}
		out = append(out, wire)
	}
	var offline api.Provider
	err := convert(catalog.Provider{
		ID: guide.ProviderID, Name: "cairn, offline",
		API:     catalog.API{Type: "native", Settings: map[string]jsontext.Value{}},
		Request: catalog.Request{Headers: map[string]string{}, Body: map[string]jsontext.Value{}},
	}, &offline)
	return append(out, offline), err
}

// redactModel returns the model without the values that its requests send: headers and options may hold keys.
func redactModel(m catalog.Model) catalog.Model {
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

// convert sets to to the value that has the same JSON as from.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encode %T: %w", from, err)
	}
	return json.Unmarshal(raw, to)
}
