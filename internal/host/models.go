package host

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/agent"
	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/engine"
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

// locationModels is what one configuration makes of the catalog. It implements engine.Models and never changes.
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
	return cmp.Or(config.Number(t.getenv, "EXPERIMENTAL_OUTPUT_TOKEN_MAX"), outputCap)
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
	return session.Errorf(session.CodeInvalid, "the stored keys cannot be read: %v", err).At("auth")
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
		Default: m.config.Model.Base(), Small: m.config.SmallModel.Base(),
		Denied: func(id string) bool { return !m.config.Experimental.Uses(id, permission.Match) },
		HasKey: m.ready, Alpha: config.Switch(m.table.getenv, "ENABLE_EXPERIMENTAL_MODELS"),
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

// Resolve implements engine.Models.
func (m *locationModels) Resolve(ref session.ModelRef, a session.Agent) (*engine.Model, error) {
	if ref.ProviderID == script.ProviderID {
		model, err := m.table.builtin(ref)
		if err == nil && ref.Variant != "" && ref.Variant != "default" {
			err = noVariant(ref)
		}
		return model, err
	}
	model, err := m.catalog.Model(ref.ProviderID, ref.ID)
	if unknown, ok := errors.AsType[*catalog.UnknownError](err); ok {
		return nil, notKnown(unknown, ref.String()).At("model")
	}
	if err != nil {
		return nil, err
	}
	variant, ok := model.Variant(ref.Variant)
	if !ok {
		return nil, noVariant(ref, variantNames(model)...)
	}
	client, hosted, err := m.client(model)
	if err != nil {
		return nil, err
	}
	o := model.Options(variant.Body, a.Request.Body)
	if o.Generate.MaxTokens == 0 {
		o.Generate.MaxTokens = int(min(model.Limit.Output, m.table.outputCap()))
	}
	if a.Hidden && !model.Temperature {
		o.Generate.Temperature = nil // that of our own agents is a wish
	}
	headers := maps.Clone(model.Request.Headers)
	maps.Copy(headers, variant.Headers)
	maps.Copy(headers, a.Request.Headers)
	return &engine.Model{
		Ref: ref, Client: client, APIName: model.API.ID, System: agent.ForModel(a, ref, model.API.ID), Generate: o.Generate, Options: o.Semantic, Body: o.Body, Headers: headers,
		Clocks: m.config.Clocks(ref.ProviderID), Context: model.Limit.Context, Output: model.Limit.Output,
		Images: model.Reads("image"), Documents: model.Reads("pdf"), Toolless: !model.Capabilities.Tools, Forms: client.Forms(), Hosted: hosted, HostedAlone: client.HostedAlone(),
		Cost: func(u llm.Usage) session.USD {
			if u.Billed != nil {
				return session.USD(*u.Billed)
			}
			return session.USD(model.Cost(u))
		},
	}, nil
}

// notKnown words that the catalog has no provider or model of the name.
func notKnown(e *catalog.UnknownError, name string) *session.Error {
	out := session.NotFound(e.Kind, name, e.Nearest...)
	if e.Misread != "" {
		out.Message = fmt.Sprintf("the %s %q is listed, but cannot be read: %s", e.Kind, name, e.Misread)
	}
	return out
}

// small is engine.Scope.Small: the configured model, else a cheap one of the provider, else the model beside it, each
// with as little thinking as it can be told to. Models that need no provider stay among themselves.
func (m *locationModels) small(beside session.ModelRef) (session.ModelRef, bool) {
	if beside.ProviderID == script.ProviderID {
		return session.ModelRef{}, false
	}
	best, ok := m.catalog.Small(beside.ProviderID, time.Now())
	if !ok || !spoken(best.API) {
		var err error
		if best, err = m.catalog.Model(beside.ProviderID, beside.ID); err != nil {
			return session.ModelRef{}, false
		}
	}
	ref := session.ModelRef{ID: best.ID, ProviderID: best.ProviderID}
	if names := variantNames(best); len(names) > 0 {
		ref.Variant = names[0]
	}
	return ref, true
}

// noVariant says that the model has no such variant, and which it has.
func noVariant(ref session.ModelRef, has ...string) error {
	e := session.NotFound("variant", ref.Variant, has...).At("model.variant")
	if len(has) == 0 {
		e.Message += fmt.Sprintf(": %s/%s has none", ref.ProviderID, ref.ID)
	}
	return e
}

func variantNames(m catalog.Model) []string {
	names := make([]string, len(m.Variants))
	for i, v := range m.Variants {
		names[i] = v.ID
	}
	return names
}

// client makes the model's connection to its vendor, and declares the tools that this runs itself. Connections themselves
// are shared.
func (m *locationModels) client(model catalog.Model) (*provider.Model, []llm.ToolDefinition, error) {
	if !spoken(model.API) {
		return nil, nil, session.Errorf(session.CodeInvalid, "%s speaks a protocol that this cairn does not know yet (%s)", model.Name(), model.API.Package).At("model")
	}
	p, err := m.catalog.Provider(model.ProviderID)
	if err != nil {
		return nil, nil, err
	}
	if why := off(p, model); why != "" {
		return nil, nil, session.Errorf(session.CodeInvalid, "%s cannot be used: %s", model.Name(), why).At("model")
	}
	vendor, err := m.vendor(p, model.API)
	if err != nil {
		return nil, nil, session.Errorf(session.CodeInvalid, "%v", err).At("model")
	}
	wanted := m.hosted(model)
	if len(wanted) > 0 && vendor.HostedWire != "" {
		vendor.Wire = vendor.HostedWire
	}
	hosted, err := vendor.Hosted(wanted)
	if err != nil {
		return nil, nil, session.Errorf(session.CodeInvalid, "hosted_tools: %v", err).At("model")
	}
	key, credential, err := m.credential(vendor, p.Env)
	if err != nil {
		return nil, nil, err
	}
	client, err := provider.New(provider.Config{
		Vendor: vendor, Key: key, Credential: credential, Transport: m.table.transport, Headers: m.config.Provider[p.ID].Options.Headers,
		Facts: facts(model, m.settings(p.ID)),
	})
	if err != nil {
		return nil, nil, session.Errorf(session.CodeInvalid, "%v (cairn auth login %s)", err, p.ID).At("model")
	}
	return client, hosted, nil
}

// hosted are the tools of the vendor's that are configured for the model, else for its provider.
func (m *locationModels) hosted(model catalog.Model) []jsontext.Value {
	p := m.config.Provider[model.ProviderID]
	if own := p.Models[model.ID].Hosted; own != nil {
		return own
	}
	return p.Hosted
}

// facts are what the model's wire depends on. Whether answers can be held to a schema, the provider's option says for
// models of which nothing else does.
func facts(model catalog.Model, s settings) provider.Facts {
	f := provider.Facts{ModelID: model.API.ID, Reasoning: model.Reasoning, ReasoningField: model.ReasoningField, Structured: model.Structured}
	if able, said := s.flag("supportsStructuredOutputs"); said && f.Structured == nil {
		f.Structured = &able
	}
	return f
}

// spoken reports whether the protocol by which a model is reached is one that package provider speaks.
func spoken(api catalog.API) bool {
	wire, known := provider.WireOf(api.Package, api.ID)
	return known && wire.Spoken()
}

// Default implements engine.Models: the configured model, else the newest usable one, else the offline guide.
func (m *locationModels) Default() (session.ModelRef, error) {
	if m.table.getenv(scriptVariable) != "" && m.config.Model == "" {
		return session.ModelRef{ID: script.ScriptModel, ProviderID: script.ProviderID}, nil
	}
	if ref := m.config.Model.Ref(); ref != nil {
		return *ref, nil
	}
	best, err := m.catalog.Default()
	if err == nil && spoken(best.API) {
		return session.ModelRef{ID: best.ID, ProviderID: best.ProviderID}, nil
	}
	for _, model := range m.catalog.Available() {
		if spoken(model.API) && model.Capabilities.Tools && m.catalog.Chosen(model.ProviderID) {
			return session.ModelRef{ID: model.ID, ProviderID: model.ProviderID}, nil
		}
	}
	return session.ModelRef{ID: script.GuideModel, ProviderID: script.ProviderID}, nil
}

// scriptVariable names the script file of the model cairn/script.
const scriptVariable = "CAIRN_SCRIPT"

// builtin returns the models that need no provider.
func (t *modelTable) builtin(ref session.ModelRef) (*engine.Model, error) {
	switch ref.ID {
	case script.GuideModel:
		return &engine.Model{Ref: ref, Client: script.Guide{}, APIName: ref.ID}, nil
	case script.ScriptModel:
		player, err := t.script()
		if err != nil {
			return nil, err
		}
		return &engine.Model{Ref: ref, Client: player, APIName: ref.ID}, nil
	default:
		return nil, session.NotFound("model", ref.String(), script.ProviderID+"/"+script.GuideModel, script.ProviderID+"/"+script.ScriptModel).At("model")
	}
}

func (t *modelTable) script() (*script.Player, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.player != nil {
		return t.player, nil
	}
	file := t.getenv(scriptVariable)
	if file == "" {
		return nil, session.Errorf(session.CodeInvalid, "the model cairn/script plays a script file: set %s to its path", scriptVariable).At("model")
	}
	s, err := script.Load(filepath.Clean(file))
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "the script: %v", err).At("model")
	}
	t.player = script.New(s)
	return t.player, nil
}

// usable returns the provider's models whose protocol is spoken here.
func (m *locationModels) usable(providerID string) []catalog.Model {
	return slices.DeleteFunc(slices.Clone(m.catalog.Models()), func(c catalog.Model) bool {
		return c.ProviderID != providerID || !c.Enabled || !spoken(c.API)
	})
}

// wanted reports whether the configuration lets the provider be used.
func (m *locationModels) wanted(providerID string) bool {
	on, off := m.config.EnabledProviders, m.config.DisabledProviders
	return (len(on) == 0 || slices.Contains(on, providerID)) && !slices.Contains(off, providerID)
}

// first names the model of a provider that is taken if nobody chooses: the configured one, else its newest.
func (m *locationModels) first(providerID string) string {
	if ref := m.config.Model.Ref(); ref != nil && ref.ProviderID == providerID {
		return ref.ID
	}
	return slices.MaxFunc(m.usable(providerID), func(a, b catalog.Model) int {
		return cmp.Or(cmp.Compare(a.Time.Released, b.Time.Released), strings.Compare(b.ID, a.ID))
	}).ID
}
