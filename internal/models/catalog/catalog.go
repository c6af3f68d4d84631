// Package catalog knows which models exist, what they can do, what they cost and which of them can be used: a snapshot
// of facts in the binary, in the shape of models.dev, under the configuration.
//
// A Catalog never changes after New; a change of configuration or keys makes a new one. It holds no credentials: the
// overlay says which providers have one. Prices are exact: pico-dollars per token, never floating point.
//
// The facts in snapshot.json, which tools/snapshot writes, were selected from models.dev (MIT License, Copyright (c)
// 2025 models.dev); a full api.json of that project can take its place.
package catalog

import (
	"slices"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/spelling"
)

// Catalog is the providers and models that exist. It is safe for concurrent use; callers must not change what its
// methods return. The models of a provider are built on first use: there are thousands, and most processes use few
// providers.
type Catalog struct {
	providers []Provider       // by id
	models    []func() []Model // of each provider, by id
	overlay   Overlay
}

// New returns the facts with the overlay o. The error names the place in the configuration or the facts that is
// invalid.
func New(o Overlay) (*Catalog, error) {
	sources, err := o.buildSources()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(sources, func(a, b *sourceProvider) int { return strings.Compare(a.ID, b.ID) })
	c := &Catalog{overlay: o}
	for _, s := range sources {
		p := s.toProvider(o)
		models := sync.OnceValue(func() []Model { return s.toModels(p, o) })
		canReach := o.CanReach == nil || len(s.Models) == 0
		p.Available = p.Available &&
			(canReach || slices.ContainsFunc(models(), func(m Model) bool { return m.Available }))
		c.models = append(c.models, models)
		c.providers = append(c.providers, p)
	}
	return c, nil
}

// maxNearest bounds the similar names in an UnknownError.
const maxNearest = 3

// Providers returns all providers by id, usable or not.
func (c *Catalog) Providers() []Provider { return c.providers }

// Models returns all models by provider and id, usable or not.
func (c *Catalog) Models() []Model {
	var out []Model
	for _, models := range c.models {
		out = append(out, models()...)
	}
	return out
}

// ModelsOf returns the models of a provider by id, usable or not; none if the provider is unknown.
func (c *Catalog) ModelsOf(providerID string) []Model {
	if i, found := c.indexOf(providerID); found {
		return c.models[i]()
	}
	return nil
}

// Available returns the models that can be used now (CT-3).
func (c *Catalog) Available() []Model {
	var out []Model
	for i, p := range c.providers {
		if !p.Available {
			continue
		}
		for _, m := range c.models[i]() {
			if m.Available {
				out = append(out, m)
			}
		}
	}
	return out
}

// IsChosen reports whether the user chose the provider, rather than that it happens to be available.
func (c *Catalog) IsChosen(providerID string) bool { return !c.overlay.Ambient[providerID] }

// Provider returns the provider with the id, or an *UnknownError with the nearest ids.
func (c *Catalog) Provider(id string) (Provider, error) {
	if i, found := c.indexOf(id); found {
		return c.providers[i], nil
	}
	names := make([]string, 0, len(c.providers))
	for _, p := range c.providers {
		names = append(names, p.ID)
	}
	return Provider{}, &UnknownError{
		Kind: "provider", Name: id, Nearest: spelling.FindNearest(id, names, maxNearest), Misread: c.unreadableReason(id),
	}
}

func (c *Catalog) indexOf(providerID string) (i int, found bool) {
	return slices.BinarySearchFunc(c.providers, providerID, func(p Provider, id string) int {
		return strings.Compare(p.ID, id)
	})
}

// Model returns the model with the ids, or an *UnknownError with the nearest names.
func (c *Catalog) Model(providerID, id string) (Model, error) {
	if m, ok := c.LookUp(providerID, id); ok {
		return m, nil
	}
	return Model{}, c.unknownModel(providerID + "/" + id)
}

// LookUp returns the model with the ids if it exists. It costs less than an error of Model, which compares all names.
func (c *Catalog) LookUp(providerID, id string) (Model, bool) {
	models := c.ModelsOf(providerID)
	i, found := slices.BinarySearchFunc(models, id, func(m Model, id string) int { return strings.Compare(m.ID, id) })
	if !found {
		return Model{}, false
	}
	return models[i], true
}

// Find returns the model with a name: provider/model, or the id of a model if that is unambiguous. Otherwise the error
// is an *UnknownError with the nearest names.
func (c *Catalog) Find(name string) (Model, error) {
	// A name with a provider is exact. Ids contain slashes as well, so go on if there is no such model.
	if providerID, id, ok := strings.Cut(name, "/"); ok {
		if m, ok := c.LookUp(providerID, id); ok {
			return m, nil
		}
	}
	// Look for the id among all providers; a single usable one decides.
	var all, usable []Model
	for _, m := range c.Models() {
		if m.ID != name {
			continue
		}
		all = append(all, m)
		if m.Available {
			usable = append(usable, m)
		}
	}
	switch {
	case len(usable) == 1:
		return usable[0], nil
	case len(all) == 1:
		return all[0], nil
	default:
		return Model{}, c.unknownModel(name)
	}
}

// Problems returns the rows of the facts that cannot be read.
func (c *Catalog) Problems() []Problem {
	if c.overlay.Facts == nil {
		return nil
	}
	return c.overlay.Facts.problems
}

// unreadableReason says why the row of a name cannot be read; "" if it can or does not exist.
func (c *Catalog) unreadableReason(name string) string {
	for _, p := range c.Problems() {
		if p.Name == name {
			return p.Why
		}
	}
	return ""
}

func (c *Catalog) unknownModel(name string) *UnknownError {
	var names []string
	for _, m := range c.Models() {
		names = append(names, m.Name())
	}
	return &UnknownError{
		Kind: "model", Name: name, Nearest: spelling.FindNearest(name, names, maxNearest), Misread: c.unreadableReason(name),
	}
}
