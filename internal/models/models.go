// Package models makes the models that sessions can use out of the catalog of known models, the configuration of a
// location and the credentials of the user.
//
// A Pool is what all locations of a process share: credentials, fetched tokens, fetched facts, and the servers of this
// machine. Build makes of one configuration an immutable Set, which finds, chooses and connects models:
//
//	lookup.go        what is known of a model, and why it cannot be used
//	defaults.go      which model is used if none is named
//	resolve.go       a model reference -> a client, options and limits (scope.Models)
//	endpoint.go      a provider -> address, protocol and credential
//	settings.go      the options of a provider that change its endpoint
//	tokens.go        short-lived tokens, shared by locations and processes
//	login.go         logins with a browser
//	cache.go         facts about models: fetched, cached, refreshed
//	localservers.go  models that servers on this machine offer
//	offline.go       models that need no provider
package models

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/session"
)

// Options are the settings of the process that a Pool uses.
type Options struct {
	Dirs      config.Directories
	Getenv    func(string) string  // looks up environment variables
	Version   string               // of cairn, for the User-Agent header
	Transport http.RoundTripper    // to providers; a recording or a replay of their traffic stands in for the network here
	Embedded  []*llm.EmbeddedModel // the first one is the default of a configuration without a model
}

// Pool holds the model data that all locations share. It is safe for concurrent use.
type Pool struct {
	Auth      *auth.Store
	Facts     catalog.Cache // as they were fetched
	Transport http.RoundTripper

	getenv       func(string) string
	embedded     []*llm.EmbeddedModel
	tokens       tokenCache
	localServers localServers
	calibration  calibration
	requests     requestSlots
	cures        provider.Cures

	mu          sync.Mutex     // guards what follows
	parsedFacts *catalog.Facts // of the cache as it was at factsAt
	factsAt     time.Time
}

// NewPool returns the pool of a process. It reads and fetches nothing yet.
func NewPool(o Options) *Pool {
	agent := "cairn/" + cmp.Or(o.Version, "devel")
	return &Pool{
		Auth: auth.New(
			o.Dirs.Data,
			o.Getenv,
		), Facts: newFactsCache(o, agent), Transport: provider.WithUserAgent(agent, o.Transport),
		getenv: o.Getenv, embedded: o.Embedded, tokens: tokenCache{agent: agent},
		calibration: calibration{path: filepath.Join(o.Dirs.Cache, "tokens-per-byte.json")},
	}
}

// Set is the catalog of models for one configuration. It implements scope.Models and never changes.
type Set struct {
	Config  *config.Config
	Catalog *catalog.Catalog

	pool        *Pool
	transports  map[string]http.RoundTripper // of providers whose requests a plugin sends, by id
	files       fileTimes                    // of the files that the set was built from
	localsFound time.Time                    // when the models of local servers were found; zero if none were looked for
}

// ReportUsage takes what a provider reported of a request, so that estimates of later ones are better.
func (m *Set) ReportUsage(ref session.ModelRef, size scope.RequestSize, tokens int64) {
	m.pool.calibration.Add(ref, size, tokens)
}

// Build returns the models of a configuration.
func (t *Pool) Build(cfg *config.Config) (*Set, error) { return t.BuildWith(cfg, nil) }

// BuildWith is Build with transports to some providers, by id, in place of the pool's.
func (t *Pool) BuildWith(cfg *config.Config, transports map[string]http.RoundTripper) (*Set, error) {
	m := &Set{pool: t, Config: cfg, files: t.readFileTimes(), transports: transports}
	if _, err := t.Auth.List(); err != nil {
		return nil, credentialsError(err)
	}
	c, err := t.buildCatalog(m.buildOverlay())
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "the configured models are invalid: %v", err)
	}
	m.Catalog = c
	return m, nil
}

// IsFresh reports whether Build would still return the same set. It costs two stats.
func (m *Set) IsFresh() bool {
	return m.pool.readFileTimes() == m.files && m.localsFound.Equal(m.pool.localServers.discover(m.pool.getenv))
}

// fileTimes are the modification times of the files that a set is built from.
type fileTimes struct{ keys, facts time.Time }

func (t *Pool) readFileTimes() fileTimes {
	times := fileTimes{facts: t.Facts.FetchedAt()}
	if info, err := os.Stat(t.Auth.Path()); err == nil {
		times.keys = info.ModTime()
	}
	return times
}

// defaultOutputCap bounds the output tokens of a turn, also of models that could write more.
const defaultOutputCap = 32_000

func (t *Pool) outputCap() int64 {
	return cmp.Or(config.PositiveNumber(t.getenv, "EXPERIMENTAL_OUTPUT_TOKEN_MAX"), defaultOutputCap)
}

// buildOverlay returns what the configuration, the vendor table and the servers of this machine change of the catalog.
func (m *Set) buildOverlay() catalog.Overlay {
	// Begin with the settings that concern all providers.
	o := catalog.Overlay{
		Providers: map[string]catalog.ProviderPatch{},
		Enabled:   m.Config.EnabledProviders, Disabled: m.Config.DisabledProviders,
		Default: m.Config.Model.BaseName(), Small: string(m.Config.SmallModel),
		Denied: func(id string) bool { return !m.Config.Experimental.AllowsProvider(id, permission.Match) },
		HasKey: m.IsReady, CanReach: m.newReachCheck(), Alpha: config.IsSwitchOn(m.pool.getenv, "ENABLE_EXPERIMENTAL_MODELS"),
	}
	// Add the patch of each configured provider, with its models in the shape of models.dev.
	for id, p := range m.Config.Provider {
		patch := catalog.ProviderPatch{
			Name: p.Name, Package: p.NPM, BaseURL: p.BaseURL(), Env: p.Env, Disabled: p.Disabled,
			Whitelist: p.Whitelist, Blacklist: p.Blacklist, Headers: p.Options.Headers,
			Body: requestOptions(p.Options.Extra), Models: map[string]jsontext.Value{},
		}
		for name, model := range p.Models {
			raw, err := json.Marshal(model, json.Deterministic(true), json.OmitZeroStructFields(true))
			if err == nil {
				patch.Models[name] = raw
			}
		}
		o.Providers[id] = patch
	}
	// The vendor table supplies the key variables that the configuration does not name.
	for _, row := range provider.ListVendors() {
		if patch := o.Providers[row.ID]; patch.Env == nil && len(row.KeyEnv) > 0 {
			patch.Env = row.KeyEnv // models.dev also lists variables that hold no key
			o.Providers[row.ID] = patch
		}
	}
	m.addLocalServers(&o)
	return o
}

// findKey returns the provider's key: the configured one, the stored one, or one of the environment; "" if there is
// none.
func (m *Set) findKey(id string, env []string) (string, error) {
	if s := m.Config.Provider[id].Options.APIKey; !s.IsZero() {
		return s.Reveal(), nil
	}
	c, _, err := m.pool.Auth.Get(id, KeyVariables(id, env)...)
	if err != nil {
		return "", credentialsError(err)
	}
	if c.Kind == auth.KindOAuth && c.IsFresh(time.Now()) {
		return c.Access.Reveal(), nil
	}
	return c.Key.Reveal(), nil
}

// KeyVariables returns those of a provider's environment variables that may hold a key. For Google Cloud, models.dev
// also lists variables that name a project or a file.
func KeyVariables(id string, env []string) []string {
	if row, known := provider.Find(id); known && row.Scheme == provider.AuthGoogle {
		return row.KeyEnv
	}
	return env
}

// SecretVariables returns the environment variables that hold keys of providers. Commands that tools start do not get
// them.
func (m *Set) SecretVariables() []string {
	var names []string
	for _, p := range m.Catalog.Providers() {
		if row, known := provider.Find(p.ID); known && row.Scheme != provider.AuthKey {
			names = append(names, row.KeyEnv...) // the others configure the vendor's own tools
			continue
		}
		names = append(names, p.Env...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// credentialsError returns the session error for a credential that cannot be read. Continuing without it would answer
// with another model.
func credentialsError(err error) error {
	if _, ok := errors.AsType[*auth.Unreachable](err); ok {
		cause := &llm.Error{Class: llm.Auth, Message: err.Error()}
		return session.Errorf(session.CodeInvalid, "%v", err).At(auth.FieldKeyring).Because(cause)
	}
	return session.Errorf(session.CodeInvalid, "the stored keys cannot be read: %v", err).At(auth.FieldFile)
}

// IsKeyUnreachable reports whether a model cannot be used because the keyring does not give out its provider's key.
func IsKeyUnreachable(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Field == auth.FieldKeyring
}
