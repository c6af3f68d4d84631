package models

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/catalog"
)

// localServers caches the models that servers on this machine offer, by provider.
type localServers struct {
	mu       sync.Mutex // guards what follows
	askedAt  time.Time  // when the servers were asked last
	changed  time.Time  // when models was found first
	byServer map[string][]provider.LocalModel
}

// localsMaxAge is the age of the cache at which the servers are asked again.
const localsMaxAge = time.Minute

// discover asks the servers if the cache is too old, and returns when the current models were found first; the zero
// time if discovery is disabled. It takes at most 100 ms. Concurrent calls use the cache.
func (l *localServers) discover(getenv func(string) string) time.Time {
	if config.IsSwitchOn(getenv, "DISABLE_DISCOVERY") {
		return time.Time{}
	}
	// One caller asks; the others use what is known.
	l.mu.Lock()
	due := time.Since(l.askedAt) > localsMaxAge
	if due {
		l.askedAt = time.Now()
	}
	changed := l.changed
	l.mu.Unlock()
	if !due {
		return changed
	}
	// Ask the vendors whose addresses are complete, without the lock.
	var rows []provider.Vendor
	for _, row := range provider.ListVendors() {
		if row, err := row.ResolveBaseURL(provider.Lookup{Env: getenv}); err == nil {
			rows = append(rows, row)
		}
	}
	models := provider.Discover(context.Background(), rows)
	// The time changes only with the models, since it makes the catalog be built again.
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed.IsZero() || !maps.EqualFunc(models, l.byServer, slices.Equal) {
		l.byServer, l.changed = models, l.askedAt
	}
	return l.changed
}

func (l *localServers) list() map[string][]provider.LocalModel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byServer
}

// addLocalServers adds the models of servers on this machine to an overlay, and marks the providers that are available
// without a choice of the user: these servers, and clouds whose own tools have credentials. No default model is taken
// from them.
func (m *Set) addLocalServers(o *catalog.Overlay) {
	// Clouds are available by the credentials of their tools, unless they are configured or have a key.
	o.Ambient = map[string]bool{}
	for _, row := range provider.ListVendors() {
		_, configured := m.Config.Provider[row.ID]
		if row.Scheme == provider.AuthAWS || row.Scheme == provider.AuthGoogle {
			key, err := m.findKey(row.ID, row.KeyEnv)
			o.Ambient[row.ID] = !configured && err == nil && key == ""
		}
	}
	// Ask the servers for their models. A zero time means that there is nothing to add.
	m.localsFound = m.pool.localServers.discover(m.pool.getenv)
	if m.localsFound.IsZero() {
		return
	}
	// Add the models of each server, unless the configuration names models or another address.
	for id, models := range m.pool.localServers.list() {
		row, known := provider.Find(id)
		row, err := row.ResolveBaseURL(provider.Lookup{Env: m.pool.getenv})
		configured := m.Config.Provider[id]
		if !known || err != nil || len(configured.Models) > 0 || configured.BaseURL() != "" {
			continue // the configuration says what there is
		}
		patch := o.Providers[id]
		patch.Name, patch.BaseURL = cmp.Or(patch.Name, row.Name), row.BaseURL
		patch.Models = map[string]jsontext.Value{}
		// Without a configured whitelist, exactly the models that were found are offered.
		for _, f := range models {
			patch.Models[f.ID] = describeLocalModel(f)
			if len(configured.Whitelist) == 0 {
				patch.Whitelist = append(patch.Whitelist, f.ID)
			}
		}
		o.Providers[id], o.Ambient[id] = patch, true
	}
}

// describeLocalModel returns a model in the shape of models.dev. Whether it can call tools is unknown until it is used.
func describeLocalModel(f provider.LocalModel) jsontext.Value {
	description := map[string]any{
		"name": f.ID, "limit": map[string]int64{"context": f.Context},
		"cost": map[string]int64{"input": 0, "output": 0},
	}
	raw, err := json.Marshal(description, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return raw
}
