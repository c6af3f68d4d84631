package models

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/session"
)

// Probe checks whether a provider can be used with the configuration, and asks it something small; "" is the default
// model's provider.
func (t *Pool) Probe(ctx context.Context, cfg *config.Config, id string) ([]finding.Finding, error) {
	// Without a valid configuration no result would be true.
	if len(cfg.Errors) > 0 {
		return cfg.ListErrorFindings(), nil
	}
	set, err := t.Build(cfg)
	if err != nil {
		return nil, err
	}
	// The default model's provider, unless one is named. The offline guide needs no check.
	if id == "" {
		ref, err := set.Default()
		if err != nil {
			return nil, err
		}
		id = ref.ProviderID
	}
	if id == guide.ProviderID {
		return []finding.Finding{{
			Level: finding.Note, What: "provider",
			Detail: "no provider is set up: the offline guide answers, which needs no provider",
			Fix:    "set a key such as OPENAI_API_KEY, or run cairn auth login PROVIDER",
		}}, nil
	}
	// Find the provider, or suggest similar names.
	row, err := set.Catalog.Provider(id)
	if unknown, ok := errors.AsType[*catalog.UnknownError](err); ok {
		return nil, set.NotFoundError(unknown, id)
	}
	if err != nil {
		return nil, err
	}
	return providerProbe{set, t, row}.run(ctx), nil
}

// providerProbe examines one provider: its address, key, server, clock, and whether a model answers.
type providerProbe struct {
	models   *Set
	pool     *Pool
	provider catalog.Provider
}

// run examines one thing after the other. It stops at a failure that the next step depends on.
func (p providerProbe) run(ctx context.Context) []finding.Finding {
	// Is it enabled, and where is it? A model may have an address of its own.
	id := p.provider.ID
	if p.provider.Disabled {
		return []finding.Finding{{
			Level: finding.Error, What: "provider", Detail: id + " is disabled by the configuration",
			Fix: "see disabled_providers and enabled_providers: cairn config explain",
		}}
	}
	model, hasModel := p.models.CheapestModel(id)
	api := p.provider.API
	if hasModel {
		api = model.API
	}
	row, err := p.models.Endpoint(p.provider, api)
	if err != nil {
		return []finding.Finding{{Level: finding.Error, What: "address", Detail: err.Error()}}
	}
	if err := row.CheckBaseURL(); err != nil {
		return []finding.Finding{{
			Level: finding.Error, What: "address", Detail: err.Error() + p.models.placeOf("provider."+id+".options.baseURL"),
			Fix: "cairn config set provider." + id + ".options.baseURL https://HOST/v1",
		}}
	}
	out := []finding.Finding{{Level: finding.OK, What: "address", Detail: redactQuery(row.BaseURL)}}
	// The environment, the key and the server do not depend on each other, so report all three.
	for _, err := range provider.CheckEnvironment() {
		out = append(out, finding.Finding{Level: finding.Warning, What: "environment", Detail: err.Error()})
	}
	key := p.examineKey(row)
	server := p.examineServer(ctx, row)
	out = append(append(out, key), server...)
	// Ask a model only if the key and the server are good.
	switch {
	case key.Level == finding.Error || server[0].Level == finding.Error:
		return out
	case !hasModel:
		return append(out, finding.Finding{
			Level: finding.Warning, What: "answer", Detail: "no model of " + id + " is known that could be asked",
			Fix: "name one under provider." + id + ".models",
		})
	default:
		return append(out, p.examineAnswer(ctx, model))
	}
}

// redactQuery returns an address without the values of query parameters that are named like secrets.
func redactQuery(address string) string {
	base, query, hasQuery := strings.Cut(address, "?")
	if !hasQuery {
		return base
	}
	var shown []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if redact.IsCredentialName(redact.FoldName(name)) {
			part = name + "=" + redact.Mark
		}
		shown = append(shown, part)
	}
	return base + "?" + strings.Join(shown, "&")
}

// examineKey says where the key comes from, and never shows it.
func (p providerProbe) examineKey(row provider.Vendor) finding.Finding {
	// A configured key has precedence.
	f := finding.Finding{Level: finding.OK, What: "key"}
	id, env := p.provider.ID, p.provider.Env
	configured := p.models.Config.Provider[id]
	if !configured.Options.APIKey.IsZero() {
		f.Detail = "in the configuration"
		return f
	}
	// Then a stored key or a variable, with a warning if it stands in for one that cannot be read.
	stored, ok, err := p.pool.Auth.Get(id, KeyVariables(id, env)...)
	switch {
	case err != nil:
		return keyFinding(err)
	case ok && stored.Instead != nil:
		f = keyFinding(stored.Instead)
		f.Level, f.Detail = finding.Warning, fmt.Sprintf("%s; the one in %s is used instead", f.Detail, stored.From)
	case ok:
		f.Detail = fmt.Sprintf("in %s", stored.From)
	case p.models.IsReady(id, env) && row.Scheme != provider.AuthKey:
		f.Detail = "the credentials of the vendor's own tools"
	case row.Scheme == provider.AuthKey && len(row.KeyEnv) == 0, configured.BaseURL() != "":
		f.Level, f.Detail = finding.Note, "not set; a server of your own may need none"
	default:
		f.Level, f.Detail, f.Fix = finding.Error, "not set", "cairn auth login "+id
		if len(env) > 0 {
			f.Fix += ", or set " + strings.Join(env, " or ")
		}
	}
	return f
}

// keyFinding reports a stored key that cannot be used.
func keyFinding(err error) finding.Finding {
	f := finding.Finding{Level: finding.Error, What: "key", Detail: err.Error()}
	if u, ok := errors.AsType[*auth.Unreachable](err); ok {
		f.Detail, f.Fix = u.Description(), u.Remedy()
	}
	return f
}

const (
	serverTimeout = 10 * time.Second
	maxClockSkew  = 5 * time.Minute // vendors reject signatures and tokens beyond it
)

// examineServer sends a request without a key and compares the server's clock with that of this machine. The finding
// about the server comes first.
func (p providerProbe) examineServer(ctx context.Context, row provider.Vendor) []finding.Finding {
	// Send a request that needs no key and changes nothing. Any answer shows that the server can be reached, so a
	// redirect is not followed.
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, row.BaseURL, nil)
	if err != nil {
		return []finding.Finding{{
			Level: finding.Error, What: "server", Detail: "its address is invalid: " + row.BaseURL,
			Fix: "check options.baseURL in the configuration",
		}}
	}
	noRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Transport: p.pool.Transport, CheckRedirect: noRedirects}
	start := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return []finding.Finding{{
			Level: finding.Error, What: "server", Detail: provider.DescribeUnreachable(req.URL.Host, err) + describeProxy(req),
			Fix: "check the network, HTTPS_PROXY and NO_PROXY; set SSL_CERT_FILE to a company's certificate",
		}}
	}
	defer resp.Body.Close()
	took := time.Since(start)
	out := []finding.Finding{{
		Level: finding.OK, What: "server",
		Detail: fmt.Sprintf("%s answers within %d ms%s", req.URL.Host, took.Milliseconds(), describeProxy(req)),
	}}
	// The server saw the request about half-way between its start and its end.
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return out
	}
	return append(out, clockFinding(start.Add(took/2).Sub(date).Round(time.Second)))
}

// clockFinding reports by how much the clock of this machine is ahead of a server's.
func clockFinding(skew time.Duration) finding.Finding {
	if skew.Abs() <= maxClockSkew {
		return finding.Finding{Level: finding.OK, What: "clock", Detail: "agrees with the server's"}
	}
	direction := "behind"
	if skew > 0 {
		direction = "ahead"
	}
	return finding.Finding{
		Level: finding.Warning, What: "clock",
		Detail: fmt.Sprintf("this machine's is %s %s", skew.Abs().Round(time.Minute), direction),
		Fix:    "set the time: signatures and tokens are refused otherwise",
	}
}

// describeProxy names the proxy that a request goes through, without its password.
func describeProxy(req *http.Request) string {
	via, err := provider.ProxyFunc()(req)
	if err != nil || via == nil {
		return ""
	}
	return ", through the proxy " + (&url.URL{Scheme: via.Scheme, Host: via.Host}).String()
}

// probeTokens bounds the answer to a probe, and with it the price.
const probeTokens = 16

// examineAnswer asks the model for a word.
func (p providerProbe) examineAnswer(ctx context.Context, model catalog.Model) finding.Finding {
	// Resolve the model as a session would, so that the probe fails where a session fails.
	f := finding.Finding{Level: finding.Error, What: "answer"}
	resolved, err := p.models.Resolve(session.ModelRef{ProviderID: model.ProviderID, ID: model.ID}, session.Agent{})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	// Send a short request with a small limit: it costs as little as possible.
	generate := resolved.Generate
	generate.MaxTokens = probeTokens
	req := &llm.Request{
		Model: resolved.APIName, Generate: generate, Options: resolved.Options, Body: resolved.Body,
		Headers: resolved.Headers, Clocks: resolved.Clocks,
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "Say: ok"}}}},
	}
	// Read the whole answer; only its end matters.
	start := time.Now()
	var failure *llm.Error
	var finish llm.Finish
	for e, err := range resolved.Client.Stream(ctx, req) {
		if err != nil {
			failure = llm.AsError(ctx, err)
		}
		if end, ok := e.(llm.Finish); ok {
			finish = end
		}
	}
	// A filter that stops a greeting is worth its own hint; it may come with an error or without.
	switch {
	case finish.Reason == llm.FinishContentFilter:
		f.Detail = model.Name() + " declines to answer a greeting"
		f.Fix = "check for content filters in the provider's settings or in a proxy"
	case failure != nil:
		f.Detail = fmt.Sprintf("%s does not answer: %s", model.Name(), failure.Message)
		f.Fix = p.fixFor(failure)
	default:
		f.Level = finding.OK
		price := "at an unknown price"
		if cost, known := resolved.Cost(finish.Usage); known {
			price = "for $" + cost.String()
		}
		f.Detail = fmt.Sprintf("%s answers within %d ms, %s", model.Name(), time.Since(start).Milliseconds(), price)
	}
	return f
}

// fixFor says what a person can do about a failed request; "" if the error says it.
func (p providerProbe) fixFor(e *llm.Error) string {
	id := p.provider.ID
	// The status comes first: a login page of the network answers for the provider, whatever the class says.
	switch {
	case e.Status == http.StatusNetworkAuthenticationRequired:
		return "this network requires a login: open any page in a browser"
	case e.Status >= 300 && e.Status <= 399:
		return "open any page in a browser, this network may require a login; " +
			"otherwise check options.baseURL of provider." + id
	case e.Permanent:
		return ""
	}
	// Then the class of the error decides.
	switch e.Class {
	case llm.Auth:
		fix := "the key is wrong, expired, or not allowed to use this model: "
		if !p.models.Config.Provider[id].Options.APIKey.IsZero() { // it is used before a stored key
			fix += "change options.apiKey of provider." + id + ", or remove it there and run "
		}
		return fix + "cairn auth login " + id
	case llm.Forbidden:
		return "use a key of another account; another key of this one does not help"
	case llm.Quota:
		return "the account has no credit left: see the provider's page for billing"
	case llm.RateLimit:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("too many requests: the provider asks to wait %s", e.RetryAfter.Round(time.Second))
		}
		return "too many requests: wait a while"
	case llm.Malformed:
		return "the provider reports a server error, or another server responds: " +
			"a login page of this network, a proxy, or the server that options.baseURL names"
	case llm.Overloaded, llm.Timeout, llm.Incomplete, llm.Empty:
		return "the provider reports a server error; try again later"
	case llm.Transport:
		return "check the network, HTTPS_PROXY and NO_PROXY"
	case llm.InvalidRequest, llm.Overflow, llm.ContentFilter:
		return "the model may not exist for this account; cairn models " + id + " lists the others"
	case llm.Aborted, llm.Unknown:
	}
	return ""
}
