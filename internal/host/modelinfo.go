package host

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/session"
)

// newPool returns the models of this process, for commands that run without an owner.
func newPool(dirs config.Directories, o client.Options) *models.Pool {
	return models.NewPool(models.Options{
		Dirs: dirs, Getenv: o.Env, Version: o.Version, Transport: provider.NewLazyTransport(), Embedded: o.Program.Models,
	})
}

// openPool returns the models of this process and the configuration of o.Dir, without a store.
func (h Host) openPool(ctx context.Context, o client.Options) (*models.Pool, *config.Config, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	cfg, err := h.Config(ctx, o)
	return newPool(dirs, o), cfg, err
}

// buildModels returns the models of the configuration of o.Dir, without a store.
func (h Host) buildModels(ctx context.Context, o client.Options) (*models.Set, error) {
	pool, cfg, err := h.openPool(ctx, o)
	if err != nil {
		return nil, err
	}
	return pool.Build(cfg)
}

// UsableModels implements cli.Models.
func (h Host) UsableModels(ctx context.Context, o client.Options) ([]api.Model, error) {
	set, err := h.buildModels(ctx, o)
	if err != nil {
		return nil, err
	}
	return convert[[]api.Model](set.AvailableModels())
}

// WhyUnusable implements cli.Models.
func (h Host) WhyUnusable(ctx context.Context, o client.Options, id string) (string, error) {
	set, err := h.buildModels(ctx, o)
	if err != nil {
		return "", err
	}
	return set.WhyUnusable(id), nil
}

// KnownModel implements cli.Models.
func (h Host) KnownModel(ctx context.Context, o client.Options, name string) (*client.KnownModel, error) {
	set, err := h.buildModels(ctx, o)
	if err != nil {
		return nil, err
	}
	model, err := set.Find(name)
	if err != nil {
		return nil, err
	}
	known := &client.KnownModel{Missing: set.MissingFor(model), Dropped: set.ListDropped(model)}
	known.Model, err = convert[api.Model](models.Redact(model))
	return known, err
}

// KnownModels implements cli.Models.
func (h Host) KnownModels(ctx context.Context, o client.Options) ([]client.KnownModel, error) {
	set, err := h.buildModels(ctx, o)
	if err != nil {
		return nil, err
	}
	all := []client.KnownModel{}
	for _, model := range set.Catalog.Models() {
		if !model.Enabled {
			continue
		}
		known := client.KnownModel{Missing: set.MissingFor(model)}
		if known.Model, err = convert[api.Model](models.Redact(model)); err != nil {
			return nil, err
		}
		all = append(all, known)
	}
	return all, nil
}

// RefreshModels implements cli.Models.
func (h Host) RefreshModels(ctx context.Context, o client.Options) (bool, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return false, session.Errorf(session.CodeInvalid, "%v", err)
	}
	pool := newPool(dirs, o)
	if why := pool.FetchDisabledReason(); why != "" {
		return false, session.Errorf(session.CodeInvalid, "the list of models is not fetched: %s", why)
	}
	changed, err := pool.Facts.Refresh(ctx)
	if err != nil {
		return false, session.Errorf(session.CodeUnavailable, "%v; the current list stays in use", err)
	}
	return changed, nil
}

// Login implements cli.Models.
func (h Host) Login(ctx context.Context, o client.Options, id string, say func(url, code string)) error {
	pool, cfg, err := h.openPool(ctx, o)
	if err != nil {
		return err
	}
	return pool.LogIn(ctx, cfg, id, say)
}

// Probe implements cli.Models.
func (h Host) Probe(ctx context.Context, o client.Options, id string) ([]finding.Finding, error) {
	pool, cfg, err := h.openPool(ctx, o)
	if err != nil {
		return nil, err
	}
	return pool.Probe(ctx, cfg, id)
}

// convert returns the value of another type that has the same JSON.
func convert[T any](from any) (to T, err error) {
	raw, err := json.Marshal(from)
	if err != nil {
		return to, fmt.Errorf("encode %T: %w", from, err)
	}
	return to, json.Unmarshal(raw, &to)
}
