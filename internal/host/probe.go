package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/session"
)

// Probe implements cli.Host.
func (h Host) Probe(ctx context.Context, o cli.Options, id string) ([]cli.Finding, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	cfg, err := h.Config(ctx, o)
	if err != nil {
		return nil, err
	}
	if len(cfg.Errors) > 0 {
		return brokenConfig(cfg), nil
	}
	models, err := newModelTable(dirs, o, provider.LateTransport()).of(cfg)
	if err != nil {
		return nil, err
	}
	if id == "" {
		ref, err := models.Default()
		if err != nil {
			return nil, err
		}
		id = ref.ProviderID
	}
	if id == script.ProviderID {
		return []cli.Finding{{Level: cli.LevelNote, What: "provider", Detail: "no provider is set up: the offline guide answers, which needs none", Fix: "set a key such as OPENAI_API_KEY, or run cairn auth login PROVIDER"}}, nil
	}
	p, err := models.catalog.Provider(id)
	if unknown, ok := errors.AsType[*catalog.UnknownError](err); ok {
		return nil, notKnown(unknown, id)
	}
	if err != nil {
		return nil, err
	}
	return models.probe(ctx, p), nil
}

// probe looks at one thing after the other, until one keeps the next from being tried.
func (m *locationModels) probe(ctx context.Context, p catalog.Provider) []cli.Finding {
	if p.Disabled {
		return []cli.Finding{{Level: cli.LevelError, What: "provider", Detail: p.ID + " is switched off by the configuration", Fix: "see disabled_providers and enabled_providers: cairn config explain"}}
	}
	model, found := m.cheapest(p.ID)
	api := p.API
	if found {
		api = model.API
	}
	row, err := m.vendor(p, api)
	if err != nil {
		return []cli.Finding{{Level: cli.LevelError, What: "address", Detail: err.Error()}}
	}
	out := []cli.Finding{{Level: cli.LevelOK, What: "address", Detail: publicly(row.BaseURL)}}
	for _, err := range provider.Surroundings() {
		out = append(out, cli.Finding{Level: cli.LevelWarning, What: "environment", Detail: err.Error()})
	}
	key := m.probeKey(row, p)
	out = append(out, key)
	reached := m.reach(ctx, row)
	out = append(out, reached...)
	switch {
	case key.Level == cli.LevelError || reached[0].Level == cli.LevelError:
		return out
	case !found:
		return append(out, cli.Finding{Level: cli.LevelWarning, What: "answer", Detail: "there is no model of " + p.ID + " that could be asked", Fix: "name one under provider." + p.ID + ".models"})
	default:
		return append(out, m.askOnce(ctx, model))
	}
}

// publicly is an address without what its query may hold of secrets.
func publicly(address string) string {
	base, query, asked := strings.Cut(address, "?")
	if !asked {
		return base
	}
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if redact.IsCredentialName(redact.FoldName(name)) {
			part = name + "=" + redact.Mark
		}
		kept = append(kept, part)
	}
	return base + "?" + strings.Join(kept, "&")
}

// cheapest returns the provider's model that is asked: the configured one, a small one, or any.
func (m *locationModels) cheapest(id string) (catalog.Model, bool) {
	if ref := m.config.Model.Ref(); ref != nil && ref.ProviderID == id {
		if model, err := m.catalog.Model(id, ref.ID); err == nil {
			return model, true
		}
	}
	if model, ok := m.catalog.Small(id, time.Now()); ok && model.ProviderID == id {
		return model, true
	}
	for _, model := range m.catalog.Models() {
		if model.ProviderID == id && model.Enabled && spoken(model.API) {
			return model, true
		}
	}
	return catalog.Model{}, false
}

// probeKey says where the key comes from, never what it is.
func (m *locationModels) probeKey(row provider.Vendor, p catalog.Provider) cli.Finding {
	f := cli.Finding{Level: cli.LevelOK, What: "key"}
	if !m.config.Provider[p.ID].Options.APIKey.IsZero() {
		f.Detail = "in the configuration"
		return f
	}
	stored, ok, err := m.table.auth.Get(p.ID, keyNames(p.ID, p.Env)...)
	switch {
	case err != nil:
		return keyTrouble(err)
	case ok && stored.Instead != nil:
		f = keyTrouble(stored.Instead)
		f.Level, f.Detail = cli.LevelWarning, fmt.Sprintf("%s; that in %s is used instead", f.Detail, stored.From)
	case ok:
		f.Detail = fmt.Sprintf("in %s", stored.From)
	case m.ready(p.ID, p.Env) && row.Scheme != provider.ByKey:
		f.Detail = "those of the vendor's own tools"
	case row.Scheme == provider.ByKey && len(row.KeyEnv) == 0, m.config.Provider[p.ID].BaseURL() != "":
		f.Level, f.Detail = cli.LevelNote, "none is known; a server of one's own needs none"
	default:
		f.Level, f.Detail, f.Fix = cli.LevelError, "none is known", "cairn auth login "+p.ID
		if len(p.Env) > 0 {
			f.Fix += ", or set " + strings.Join(p.Env, " or ")
		}
	}
	return f
}

// keyTrouble tells of a key that is kept and cannot be used.
func keyTrouble(err error) cli.Finding {
	f := cli.Finding{Level: cli.LevelError, What: "key", Detail: err.Error()}
	if u, ok := errors.AsType[*auth.Unreachable](err); ok {
		f.Detail, f.Fix = u.What(), u.Fix()
	}
	return f
}

const (
	reachTime = 10 * time.Second
	skewLimit = 5 * time.Minute // beyond it, signatures and tokens are refused
)

// reach asks the server for anything at all, without a key, and compares clocks.
func (m *locationModels) reach(ctx context.Context, row provider.Vendor) []cli.Finding {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, row.BaseURL, nil)
	if err != nil {
		return []cli.Finding{{Level: cli.LevelError, What: "server", Detail: "its address is none: " + row.BaseURL, Fix: "see options.baseURL in the configuration"}}
	}
	begun := time.Now()
	client := &http.Client{Transport: m.table.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return []cli.Finding{{Level: cli.LevelError, What: "server", Detail: provider.Unreachable(req.URL.Host, err) + proxied(req), Fix: "see the network, HTTPS_PROXY and NO_PROXY; a company's certificate goes into SSL_CERT_FILE"}}
	}
	defer resp.Body.Close()
	took := time.Since(begun)
	out := []cli.Finding{{Level: cli.LevelOK, What: "server", Detail: fmt.Sprintf("%s answers within %d ms%s", req.URL.Host, took.Milliseconds(), proxied(req))}}
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return out
	}
	skew := begun.Add(took / 2).Sub(date).Round(time.Second)
	clock := cli.Finding{Level: cli.LevelOK, What: "clock", Detail: "agrees with the server's"}
	if skew.Abs() > skewLimit {
		clock = cli.Finding{Level: cli.LevelWarning, What: "clock", Detail: fmt.Sprintf("this machine's is %s %s", skew.Abs().Round(time.Minute), map[bool]string{true: "ahead", false: "behind"}[skew > 0]), Fix: "set the time: signatures and tokens are refused otherwise"}
	}
	return append(out, clock)
}

// proxied names the proxy that a request goes through, without its password.
func proxied(req *http.Request) string {
	via, err := provider.Proxy()(req)
	if err != nil || via == nil {
		return ""
	}
	return ", through the proxy " + (&url.URL{Scheme: via.Scheme, Host: via.Host}).String()
}

// askOnce lets the model say a word.
func (m *locationModels) askOnce(ctx context.Context, model catalog.Model) cli.Finding {
	f := cli.Finding{Level: cli.LevelError, What: "answer"}
	resolved, err := m.Resolve(session.ModelRef{ProviderID: model.ProviderID, ID: model.ID}, session.Agent{})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	generate := resolved.Generate
	generate.MaxTokens = probeTokens
	req := &llm.Request{
		Model: resolved.APIName, Generate: generate, Options: resolved.Options, Body: resolved.Body, Headers: resolved.Headers, Clocks: resolved.Clocks,
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "Say: ok"}}}},
	}
	begun := time.Now()
	var failed *llm.Error
	var done llm.Finish
	for e, err := range resolved.Client.Stream(ctx, req) {
		if err != nil {
			failed = llm.AsError(ctx, err)
		}
		if end, ok := e.(llm.Finish); ok {
			done = end
		}
	}
	cost := resolved.Cost(done.Usage)
	switch {
	case done.Reason == llm.FinishContentFilter:
		f.Detail, f.Fix = model.Name()+" declines to answer a greeting", "see what filters stand between: the provider's settings, or a proxy"
		return f
	case failed != nil:
		f.Detail, f.Fix = fmt.Sprintf("%s does not answer: %s", model.Name(), failed.Message), m.remedy(failed, model.ProviderID)
		return f
	}
	return cli.Finding{Level: cli.LevelOK, What: "answer", Detail: fmt.Sprintf("%s answers within %d ms, for $%s", model.Name(), time.Since(begun).Milliseconds(), cost)}
}

// probeTokens bounds the answer, and its price.
const probeTokens = 16

// remedy says what a person can do about a failed call.
func (m *locationModels) remedy(e *llm.Error, id string) string {
	switch {
	case e.Status == http.StatusNetworkAuthenticationRequired:
		return "this network wants a login: open any page in a browser"
	case e.Status >= 300 && e.Status <= 399:
		return "open any page in a browser, this network may want a login; else see options.baseURL of provider." + id
	case e.Permanent:
		return "" // it says itself what to change
	}
	switch e.Class {
	case llm.Auth:
		fix := "the key is wrong, expired, or not allowed to use this model: "
		if !m.config.Provider[id].Options.APIKey.IsZero() { // it goes before one that is kept
			fix += "change options.apiKey of provider." + id + ", or remove it there and run "
		}
		return fix + "cairn auth login " + id
	case llm.Forbidden:
		return "another key does not change it, unless it is that of another account"
	case llm.Quota:
		return "the account has no credit left: see the provider's page for billing"
	case llm.RateLimit:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("too many requests: the provider asks to wait %s", e.RetryAfter.Round(time.Second))
		}
		return "too many requests: wait a while"
	case llm.Malformed:
		return "the provider has trouble, or something else answers: a login page of this network, a proxy, or what options.baseURL names"
	case llm.Overloaded, llm.Timeout, llm.Incomplete, llm.Empty:
		return "the provider has trouble; try again later"
	case llm.Transport:
		return "see the network, HTTPS_PROXY and NO_PROXY"
	case llm.InvalidRequest, llm.Overflow, llm.ContentFilter:
		return "the model may not exist for this account; cairn models " + id + " lists the others"
	case llm.Aborted, llm.Unknown:
	}
	return ""
}
