package catalog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Overlay holds the changes that the configuration and the credentials make to the catalog. The zero value leaves the
// facts as they are, with nothing available.
type Overlay struct {
	// Facts replace those in the binary; nil keeps them.
	Facts *Facts
	// Providers changes providers and adds new ones, by id.
	Providers map[string]ProviderPatch
	// Enabled, if not nil, are the only providers in use; Disabled are never in use.
	Enabled  []string
	Disabled []string
	// Alpha enables models in their alpha.
	Alpha bool
	// Denied reports whether a policy forbids the provider; nil forbids none.
	Denied func(providerID string) bool
	// Default and Small are the configured models, as provider/model; empty for none.
	Default string
	Small   string
	// Ambient are providers that can be used although the user did not choose them: servers on this machine, and
	// clouds whose credentials exist for other tools. Their models are never the default.
	Ambient map[string]bool
	// CanReach is nil if all models can be reached.
	CanReach ReachCheck
	// HasKey reports whether there is a credential for the provider, stored, configured or in one of the variables.
	HasKey func(providerID string, env []string) bool
}

// ProviderPatch holds the changes that the configuration makes to one provider. Empty fields change nothing.
type ProviderPatch struct {
	Name      string
	Package   string   // the AI SDK's name of the protocol
	BaseURL   string   // a server of the user's own; it needs no key to be available
	Env       []string // nil keeps the known variables
	Disabled  bool
	Whitelist []string // if any, the only models in use
	Blacklist []string
	Headers   map[string]string
	Body      map[string]jsontext.Value // options of every request, in any spelling that Partition sorts
	// Models changes models and adds new ones, by id. Each is an object in the shape of models.dev whose fields are
	// laid over the known ones: objects deeply, other values whole; null takes a value away.
	Models map[string]jsontext.Value
}

// buildSources returns the providers of the facts with the models of the patches.
func (o Overlay) buildSources() ([]*sourceProvider, error) {
	// The facts of the binary, unless others are given.
	facts := o.Facts
	if facts == nil {
		var err error
		if facts, err = embedded(); err != nil {
			return nil, err
		}
	}
	// All providers of the facts and of the configuration, in order.
	ids := slices.Collect(maps.Keys(facts.raw))
	for id := range o.Providers {
		if _, known := facts.raw[id]; !known {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	out := make([]*sourceProvider, 0, len(ids))
	// Only providers with configured models are built again; the others are shared.
	for _, id := range ids {
		s := facts.providers[id]
		if s == nil || len(o.Providers[id].Models) > 0 {
			var err error
			if s, err = o.buildSource(id, facts.confinedJSON(id)); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

func (o Overlay) buildSource(id string, raw jsontext.Value) (*sourceProvider, error) {
	merged, err := o.overlayModels(id, raw)
	if err != nil {
		return nil, err
	}
	s, err := decodeProvider(id, merged)
	if err != nil {
		return nil, fmt.Errorf("provider.%s: %s", id, problemText(err))
	}
	maps.DeleteFunc(
		s.Models,
		func(_ string, m *sourceModel) bool { return m == nil },
	) // the configuration removes a model that does not exist
	return s, nil
}

// confinedJSON returns the JSON of a provider without what is withheld, as a base for the user's models.
func (f *Facts) confinedJSON(id string) jsontext.Value {
	raw, s := f.raw[id], f.providers[id]
	if f.modelsWithheld == nil || s == nil {
		return raw
	}
	var models map[string]jsontext.Value
	var fields map[string]jsontext.Value
	if json.Unmarshal(raw, &fields, lenientJSON) != nil ||
		json.Unmarshal(fields["models"], &models, lenientJSON) != nil {
		return nil // cannot happen: Parse has read it
	}
	for key := range models {
		if _, withheld := f.modelsWithheld[id+"/"+key]; withheld {
			models[key] = mergeJSON(models[key], jsontext.Value(`{"provider":{"api":null}}`))
		}
	}
	fields["models"] = marshalMembers(models)
	address, err := json.Marshal(map[string]any{"api": s.API, "env": slices.Clone(s.Env)})
	if err != nil {
		return nil
	}
	return mergeJSON(marshalMembers(fields), address)
}

// withheldProvider returns what is withheld of a provider; nil if nothing is, or if the user configured its address.
func (o Overlay) withheldProvider(id string) *Withheld {
	if o.Facts == nil || o.Providers[id].BaseURL != "" {
		return nil
	}
	if w, exists := o.Facts.providersWithheld[id]; exists {
		return &w
	}
	return nil
}

// withheldModel returns what is withheld of a model; nil if nothing is.
func (o Overlay) withheldModel(name string) *Withheld {
	if o.Facts == nil {
		return nil
	}
	if w, exists := o.Facts.modelsWithheld[name]; exists {
		return &w
	}
	return nil
}

// overlayModels lays the patch's models over those of the provider.
func (o Overlay) overlayModels(id string, raw jsontext.Value) (jsontext.Value, error) {
	patch := o.Providers[id].Models
	if len(patch) == 0 {
		return raw, nil
	}
	var known struct {
		Models map[string]jsontext.Value `json:"models"`
	}
	_ = json.Unmarshal(raw, &known, lenientJSON) // an unreadable base has no models
	models, err := json.Marshal(map[string]any{"models": addBaseModels(patch, known.Models)},
		json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, fmt.Errorf("provider.%s.models: %w", id, err)
	}
	return mergeJSON(raw, models), nil
}

// addBaseModels lays each of the patch's models that has an id other than its key over the known model with that id:
// the key is the user's own name for it.
func addBaseModels(patch, known map[string]jsontext.Value) map[string]jsontext.Value {
	out := maps.Clone(patch)
	for key, v := range patch {
		var says struct {
			ID   string         `json:"id"`
			Name jsontext.Value `json:"name"`
		}
		if json.Unmarshal(v, &says, lenientJSON) != nil || says.ID == key || known[says.ID] == nil ||
			known[key] != nil {
			continue
		}
		if says.Name == nil {
			name, _ := jsontext.AppendQuote(nil, key) // cannot fail: the key came from JSON
			v = mergeJSON(v, marshalMembers(map[string]jsontext.Value{"name": name}))
		}
		out[key] = mergeJSON(known[says.ID], v)
	}
	return out
}

// mergeJSON lays over over base: objects member by member, other values whole. A null member removes the one of base.
func mergeJSON(base, over jsontext.Value) jsontext.Value {
	// Anything but two objects is replaced.
	if base.Kind() != '{' || over.Kind() != '{' {
		return over
	}
	var a, b map[string]jsontext.Value
	if json.Unmarshal(base, &a, lenientJSON) != nil || json.Unmarshal(over, &b, lenientJSON) != nil {
		return over
	}
	// Merge member by member.
	for name, v := range b {
		if v.Kind() == 'n' {
			delete(a, name)
			continue
		}
		a[name] = mergeJSON(a[name], v)
	}
	out, err := json.Marshal(
		a,
		json.Deterministic(true),
		jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true),
	)
	if err != nil {
		return over
	}
	return out
}
