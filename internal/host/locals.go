package host

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// locals are the models that servers on this machine offer, as they were found last.
type locals struct {
	mu      sync.Mutex // guards what follows
	asked   time.Time  // the last time
	changed time.Time  // the time at which what is found was found
	found   map[string][]provider.Found
}

// rememberLocals is how long what was found counts before the servers are asked again.
const rememberLocals = time.Minute

// latest asks the servers again if that is due, and returns when what is found now was found first.
func (l *locals) latest(getenv func(string) string) time.Time {
	if config.IsSwitchOn(getenv, "DISABLE_DISCOVERY") {
		return time.Time{}
	}
	l.mu.Lock()
	due := time.Since(l.asked) > rememberLocals
	if due {
		l.asked = time.Now() // whoever comes meanwhile takes what there is
	}
	changed := l.changed
	l.mu.Unlock()
	if !due {
		return changed
	}
	found := provider.Discover(context.Background(), provider.Vendors()) // 100 ms at most, whoever waits
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed.IsZero() || !maps.EqualFunc(found, l.found, slices.Equal) {
		l.found, l.changed = found, l.asked
	}
	return l.changed
}

func (l *locals) models() map[string][]provider.Found {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}

// lookAround adds what nobody configured: servers of this machine that answer, and says which providers nobody chose.
func (m *locationModels) lookAround(o *catalog.Overlay) {
	o.Ambient = map[string]bool{}
	for _, row := range provider.Vendors() {
		_, configured := m.config.Provider[row.ID]
		if row.Scheme == provider.ByAWS || row.Scheme == provider.ByGoogle {
			key, err := m.key(row.ID, row.KeyEnv)
			o.Ambient[row.ID] = !configured && err == nil && key == ""
		}
	}
	m.around = m.table.locals.latest(m.table.getenv)
	if m.around.IsZero() {
		return
	}
	for id, found := range m.table.locals.models() {
		row, known := provider.Find(id)
		own := m.config.Provider[id]
		if !known || len(own.Models) > 0 || own.BaseURL() != "" {
			continue // it is said what there is
		}
		patch := o.Providers[id]
		patch.Name, patch.BaseURL, patch.Models = cmp.Or(patch.Name, row.Name), row.BaseURL, map[string]jsontext.Value{}
		for _, f := range found {
			patch.Models[f.ID] = described(f)
			if len(own.Whitelist) == 0 {
				patch.Whitelist = append(patch.Whitelist, f.ID)
			}
		}
		o.Providers[id], o.Ambient[id] = patch, true
	}
}

// described is a found model in the shape of models.dev. Whether it can call tools, its first answer shows.
func described(f provider.Found) jsontext.Value {
	raw, err := json.Marshal(map[string]any{"name": f.ID, "limit": map[string]int64{"context": f.Context}}, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return raw
}
