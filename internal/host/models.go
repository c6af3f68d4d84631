package host

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// modelTable is what all locations share of models: credentials, connections, and the script that tests and demos
// play (the file that CAIRN_SCRIPT names, as model cairn/script).
type modelTable struct {
	auth      *auth.Store
	getenv    func(string) string
	transport http.RoundTripper
	tokens    tokens
	facts     catalog.Cache
	locals    locals

	mu      sync.Mutex // guards what follows
	player  *script.Player
	parsed  *catalog.Facts // of the cache as it was at factsAt
	factsAt time.Time
}

// locationModels is what one configuration makes of the catalog. It implements location.Models and never changes.
type locationModels struct {
	table   *modelTable
	config  *config.Config
	catalog *catalog.Catalog
	stamp   stamp
	around  time.Time // when the servers of this machine were asked
}

// outputCap is the most that a model is asked to say in one turn, whatever it could (seed 002), unless the environment
// says otherwise.
const outputCap = 32_000

func (t *modelTable) outputCap() int64 {
	return cmp.Or(config.PositiveNumber(t.getenv, "EXPERIMENTAL_OUTPUT_TOKEN_MAX"), outputCap)
}

func (t *modelTable) of(cfg *config.Config) (*locationModels, error) {
	m := &locationModels{table: t, config: cfg, stamp: t.stamp()}
	if _, err := t.auth.List(); err != nil {
		return nil, unreadable(err)
	}
	c, err := t.build(m.overlay())
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "the configured models: %v", err)
	}
	m.catalog = c
	return m, nil
}

// unreadable says that the stored keys cannot be read. Going on as if there were none would answer with another model.
func unreadable(err error) error {
	if _, ok := errors.AsType[*auth.Unreachable](err); ok {
		return session.Errorf(session.CodeInvalid, "%v", err).At(cli.FieldKeyring).Because(&llm.Error{Class: llm.Auth, Message: err.Error()})
	}
	return session.Errorf(session.CodeInvalid, "the stored keys cannot be read: %v", err).At(cli.FieldKeys)
}

// outOfReach reports whether there is a key that cannot be had now.
func outOfReach(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Field == cli.FieldKeyring
}

// stamp tells one state of the files that models depend on from another.
type stamp struct{ keys, facts time.Time }

func (t *modelTable) stamp() stamp {
	s := stamp{facts: t.facts.At()}
	if info, err := os.Stat(t.auth.Path()); err == nil {
		s.keys = info.ModTime()
	}
	return s
}

func (m *locationModels) fresh() bool {
	return m.table.stamp() == m.stamp && m.around.Equal(m.table.locals.latest(m.table.getenv))
}

func (m *locationModels) overlay() catalog.Overlay {
	o := catalog.Overlay{
		Providers: map[string]catalog.ProviderPatch{}, Enabled: m.config.EnabledProviders, Disabled: m.config.DisabledProviders,
		Default: m.config.Model.BaseName(), Small: m.config.SmallModel.BaseName(),
		Denied: func(id string) bool { return !m.config.Experimental.AllowsProvider(id, permission.Match) },
		HasKey: m.ready, Alpha: config.IsSwitchOn(m.table.getenv, "ENABLE_EXPERIMENTAL_MODELS"),
	}
	for id, p := range m.config.Provider {
		patch := catalog.ProviderPatch{
			Name: p.Name, Package: p.NPM, BaseURL: p.BaseURL(), Env: p.Env, Disabled: p.Disabled,
			Whitelist: p.Whitelist, Blacklist: p.Blacklist, Headers: p.Options.Headers, Models: map[string]jsontext.Value{},
		}
		patch.Body = sent(p.Options.Extra)
		for name, model := range p.Models {
			if raw, err := json.Marshal(model, json.Deterministic(true), json.OmitZeroStructFields(true)); err == nil {
				patch.Models[name] = raw
			}
		}
		o.Providers[id] = patch
	}
	for _, row := range provider.Vendors() {
		if patch := o.Providers[row.ID]; patch.Env == nil && len(row.KeyEnv) > 0 {
			patch.Env = row.KeyEnv // models.dev also lists what is no key
			o.Providers[row.ID] = patch
		}
	}
	m.lookAround(&o)
	return o
}

// key returns the provider's key: the configured one, the stored one, or one of the environment; "" if there is none.
func (m *locationModels) key(id string, env []string) (string, error) {
	if s := m.config.Provider[id].Options.APIKey; !s.IsZero() {
		return s.Reveal(), nil
	}
	c, _, err := m.table.auth.Get(id, keyNames(id, env)...)
	if err != nil {
		return "", unreadable(err)
	}
	if c.Kind == auth.KindOAuth && c.Fresh(time.Now()) {
		return c.Access.Reveal(), nil
	}
	return c.Key.Reveal(), nil
}

// keyNames are those of a provider's variables that may hold a key: models.dev also lists what its other credentials need.
func keyNames(id string, env []string) []string {
	if row, known := provider.Find(id); known && row.Scheme == provider.ByGoogle {
		return row.KeyEnv
	}
	return env
}

// secretNames are the variables that hold keys: no tool ever sees them.
func (m *locationModels) secretNames() []string {
	var names []string
	for _, p := range m.catalog.Providers() {
		if row, known := provider.Find(p.ID); known && row.Scheme != provider.ByKey {
			names = append(names, row.KeyEnv...) // the others are of use to the vendor's own tools
			continue
		}
		names = append(names, p.Env...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
