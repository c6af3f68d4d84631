package v1

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/opencode"
)

// catalogHandlers lists what a location offers.
type catalogHandlers struct{ *dependencies }

// listOf returns a handler that lists something of a location.
func listOf[T any](h catalogHandlers, list func(*Location) T) func(context.Context, locationIn) (T, error) {
	return func(ctx context.Context, in locationIn) (v T, err error) {
		l, err := h.Backend.Location(ctx, in.Location.Location)
		if err == nil {
			v = list(l)
		}
		return v, err
	}
}

// listTools lists the tools. The query must name a model, as in OpenCode; the tools are the same for all models.
func (h catalogHandlers) listTools(ctx context.Context, in struct {
	locationIn
	Provider string `query:"provider" required:"true"`
	Model    string `query:"model" required:"true"`
},
) ([]opencode.Tool, error) {
	return listOf(h, (*Location).listTools)(ctx, in.locationIn)
}

func (h catalogHandlers) listToolIDs(ctx context.Context, in locationIn) ([]string, error) {
	list, err := listOf(h, (*Location).listTools)(ctx, in)
	ids := make([]string, len(list))
	for i, t := range list {
		ids[i] = t.ID
	}
	return ids, err
}

// usableProviders are the response of config.providers.
type usableProviders struct {
	Providers []opencode.Provider `json:"providers"`
	Default   map[string]string   `json:"default"`
}

// listUsableProviders lists the providers that are connected.
func (h catalogHandlers) listUsableProviders(ctx context.Context, in locationIn) (usableProviders, error) {
	p, err := listOf(h, (*Location).ListProviders)(ctx, in)
	out := usableProviders{[]opencode.Provider{}, p.Default}
	for _, v := range p.All {
		if slices.Contains(p.Connected, v.ID) {
			out.Providers = append(out.Providers, v)
		}
	}
	return out, err
}

// allProviders are the response of provider.list.
type allProviders struct {
	All       []opencode.Provider `json:"all"`
	Default   map[string]string   `json:"default"`
	Connected []string            `json:"connected"`
}

func (h catalogHandlers) listProviders(ctx context.Context, in locationIn) (allProviders, error) {
	p, err := listOf(h, (*Location).ListProviders)(ctx, in)
	return allProviders{p.All, p.Default, p.Connected}, err
}
