// Package provider makes an llm.Model from a vendor, a credential and the facts about a model: protocol, endpoint and
// authentication together.
//
// A key goes only to the host of the endpoint that it was configured with: redirects to other hosts are refused, and
// Config.KeyHosts can restrict the hosts. Each turn runs under the clocks of llm.Watch, under a total time only if the settings
// name one. One Stream sends one request: retries are the engine's decision. The size of an answer is bounded. Errors never
// contain a key.
package provider

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Config describes a Model.
type Config struct {
	Vendor Vendor
	// Key is the API key; empty for endpoints without one.
	Key string
	// KeyAdvice follows the message about a rejected key, such as the file that holds it; may be "".
	KeyAdvice string
	// Credential, if not nil, replaces Key: it is fetched, renewed, or signs requests.
	Credential Credential
	// KeyHosts, if not empty, are the only hosts (with port, if it is not the scheme's default) that may receive Key and
	// Headers. Set it when the endpoint comes from a less trusted source than the key, such as a project's file.
	KeyHosts []string
	// Facts are the properties of the model that change the request.
	Facts Facts
	// Headers are sent with every request. The request's own headers take precedence.
	Headers map[string]string
	// Cures remembers what servers refuse, for all models that share it; nil remembers for this one.
	Cures *Cures
	// Transport sends the requests. Share one among models so that connections are reused. Nil means NewTransport().
	Transport http.RoundTripper
}

// Facts are the properties of a model that change its requests.
type Facts struct {
	ModelID   string
	Reasoning bool
	// ReasoningField is the field in which the vendor expects earlier reasoning, if the catalog names one.
	ReasoningField string
	// StructuredOutput reports whether the vendor can make the model's answers conform to a schema; nil is unknown.
	StructuredOutput *bool
}

// Model is an llm.Model over HTTP. It is safe for concurrent use.
type Model struct {
	protocol      Protocol
	rules         requestRules
	base          string // without a trailing slash
	query         string
	deployments   bool // the model is part of the path
	scheme        AuthScheme
	host          string
	schemaSupport llm.SchemaSupport
	// hostedExclusive reports that hosted tools cannot be combined with other tools.
	hostedExclusive bool
	reportsCharge   bool
	credential      Credential
	keyAdvice       string
	cures           *Cures
	headers         http.Header
	client          *http.Client
}

var _ llm.Model = (*Model)(nil)

// New checks the configuration and returns a Model; it does no I/O. Its error names the next step and never contains
// the key.
func New(c Config) (*Model, error) {
	// Check the protocol and the address.
	protocol, isSupported := c.Vendor.Wire.newProtocol(c.Vendor, c.Facts)
	if !isSupported {
		return nil, fmt.Errorf(
			"provider %q uses a protocol that this version of cairn does not support (%s)", c.Vendor.ID, c.Vendor.Wire,
		)
	}
	base, err := parseBaseURL(c.Vendor)
	if err != nil {
		return nil, err
	}
	// Check the key: its form, that there is one if the vendor needs one, and that it is for this host. A
	// configuration from elsewhere must not be able to send it to another server.
	key := strings.TrimSpace(c.Key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, fmt.Errorf(
			"the key of provider %q contains a space, a line break or a character that is not ASCII; store it again "+
				"with cairn auth login %[1]s",
			c.Vendor.ID,
		)
	}
	if key == "" && c.Credential == nil && needsKey(c.Vendor.ID, base.Host) {
		return nil, fmt.Errorf(
			"provider %q needs a key: set %s or log in", c.Vendor.ID, strings.Join(c.Vendor.KeyEnv, " or "),
		)
	}
	if len(c.KeyHosts) > 0 && (key != "" || c.Credential != nil || len(c.Headers) > 0) &&
		!slices.Contains(c.KeyHosts, base.Host) {
		return nil, fmt.Errorf(
			"the key of provider %q is for %s and must not be sent to %s", c.Vendor.ID, strings.Join(c.KeyHosts, ", "),
			base.Host,
		)
	}
	if err := checkHeaders(c.Headers); err != nil {
		return nil, fmt.Errorf("provider %q: %w", c.Vendor.ID, err)
	}
	// Build the model. A redirect is followed within the same origin only, since it would carry the key.
	transport := c.Transport
	if transport == nil {
		transport = NewTransport()
	}
	facts := c.Vendor.Wire.requestRules()
	m := &Model{
		protocol: protocol, rules: facts, host: base.Host, query: base.RawQuery, deployments: c.Vendor.Deployments,
		scheme: c.Vendor.Scheme, schemaSupport: schemaSupport(c.Vendor, c.Facts),
		hostedExclusive: c.Vendor.HostedExclusive(c.Facts.ModelID), reportsCharge: c.Vendor.Dialect.Router,
		credential: c.Credential, keyAdvice: c.KeyAdvice, headers: http.Header{},
		client: &http.Client{Transport: transport, CheckRedirect: SameOrigin},
	}
	// Headers override each other: the protocol's, the vendor's, then the configuration's.
	for _, headers := range []map[string]string{facts.headers, c.Vendor.Headers, c.Headers} {
		overlayHeaders(m.headers, headers)
	}
	if m.credential == nil {
		m.credential = newStaticKey(c.Vendor, key)
	}
	if m.cures = c.Cures; m.cures == nil {
		m.cures = &Cures{}
	}
	// The query of the address is added to each request; the path of the protocol follows the rest.
	base.RawQuery = ""
	m.base = strings.TrimRight(base.String(), "/")
	return m, nil
}

// SchemaSupport reports how far the vendor makes the model's answers conform to a request's OutputSchema.
func (m *Model) SchemaSupport() llm.SchemaSupport { return m.schemaSupport }

// SupportsSchema reports whether the vendor accepts schema as a request's OutputSchema. If not, a tool call has to
// carry the answer.
func (m *Model) SupportsSchema(schema jsontext.Value) bool {
	checker, ok := m.protocol.(schemaChecker)
	return !ok || checker.SupportsSchema(schema)
}

// HostedExclusive reports whether the vendor's hosted tools cannot be combined with other tools.
func (m *Model) HostedExclusive() bool { return m.hostedExclusive }

// ReportsCharge reports whether the vendor says with each answer what it cost.
func (m *Model) ReportsCharge() bool { return m.reportsCharge }

// needsKey reports whether host is the address of a vendor in the table. A server of the user may work without a key.
func needsKey(id, host string) bool {
	row, exists := Find(id)
	own, err := parseBaseURL(row)
	return exists && len(row.KeyEnv) > 0 && err == nil && own.Host == host
}

// ErrBaseURL is wrapped in the error about an invalid base URL.
var ErrBaseURL = errors.New("the base URL")

// CheckBaseURL returns an error if requests cannot be sent to the vendor's base URL.
func (v Vendor) CheckBaseURL() error {
	_, err := parseBaseURL(v)
	return err
}

// parseBaseURL returns the vendor's base URL without the paths that people paste along with it.
func parseBaseURL(v Vendor) (*url.URL, error) {
	if v.BaseURL == "" {
		return nil, fmt.Errorf("provider %q has no base URL; set options.baseURL in its configuration", v.ID)
	}
	base, err := url.Parse(v.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("%w of provider %q must look like https://host/v1", ErrBaseURL, v.ID)
	}
	if base.User != nil {
		return nil, fmt.Errorf(
			"%w of provider %q must not contain a user name or password; use a key or a header", ErrBaseURL, v.ID,
		)
	}
	base.Fragment = ""
	base.Path = strings.TrimRight(base.Path, "/")
	for _, suffix := range v.Wire.requestRules().suffixes {
		base.Path = strings.TrimSuffix(base.Path, suffix)
	}
	return base, nil
}

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		// Encode the request in the form that this server is known to accept.
		protocol, cureKey := m.protocol, m.base+"\x00"+req.Model
		if d, isChat := protocol.(openaichat.Dialect); isChat {
			protocol = d.ApplyCures(m.cures.find(cureKey))
		}
		body, err := protocol.Encode(req)
		if err != nil {
			yield(nil, llm.AsError(ctx, err))
			return
		}
		if err := checkHeaders(req.Headers); err != nil {
			yield(nil, &llm.Error{Class: llm.InvalidRequest, Message: err.Error()})
			return
		}
		// Send it. The watchdog ends the request if the server is silent for too long.
		ctx, dog := llm.Watch(ctx, m.clocksFor(req.Clocks))
		defer dog.Stop()
		resp, sent, err := m.sendAuthorized(ctx, dog, req, body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		// Everything that is read from here on may repeat the request's secrets, so they are removed from errors.
		answer := newResponseBody(ctx, dog, resp)
		sealed := collectSecrets(sent.Header, req)
		// A refusal: learn from it what this server does not accept, and which media it rejected.
		if !isSuccess(resp) {
			e := m.readFailure(ctx, resp, answer, sealed)
			if _, isChat := protocol.(openaichat.Dialect); isChat && e.Class == llm.InvalidRequest {
				m.cures.cureRefusal(e, cureKey, body)
			}
			if !e.IsRetryable() {
				e.RejectedMedia = wire.FindRejectedMedia(body, e.Message+"\n"+e.Body, req)
			}
			yield(nil, e)
			return
		}
		// Pass the events on. After the last one the connection is made ready for the next request.
		for e, err := range protocol.Decode(wire.FindRequestID(resp.Header), answer, sealed...) {
			if !yield(e, err) || err != nil {
				return
			}
		}
		drainBody(answer, dog)
	}
}

func isSuccess(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }

// sendAuthorized sends the request, and a second time if the vendor rejects the credential and there is a newer one. It
// returns the request that was sent with the response.
func (m *Model) sendAuthorized(
	ctx context.Context, dog *llm.Watchdog, req *llm.Request, body []byte,
) (*http.Response, *http.Request, error) {
	for isRetry := false; ; isRetry = true {
		r, err := m.buildRequest(req, body)
		if err != nil {
			return nil, nil, err
		}
		if err := m.credential.Authorize(ctx, r, body); err != nil {
			return nil, nil, credentialError(ctx, err)
		}
		resp, err := m.send(ctx, dog, r)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || isRetry {
			return resp, r, err
		}
		if renewed, err := m.credential.Renew(ctx, r); err != nil || !renewed {
			return resp, r, nil // the vendor's own message is the most exact
		}
		_ = resp.Body.Close() // the body is not needed
	}
}

// credentialError returns the error of a credential that is not available.
func credentialError(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*llm.Error](err); ok || context.Cause(ctx) != nil {
		return llm.AsError(ctx, err)
	}
	return &llm.Error{Class: llm.Auth, Message: err.Error(), Err: err}
}

// buildRequest builds the HTTP request without its credential, which is added last so that no header overrides it.
func (m *Model) buildRequest(req *llm.Request, body []byte) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, m.buildURL(req.Model), bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{
			Class: llm.InvalidRequest, Message: fmt.Sprintf("the model name %.80q is not valid in a URL", req.Model),
		}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", cmp.Or(m.rules.accept, "text/event-stream"))
	r.Header.Set("Accept-Encoding", "identity") // compression delays the frames of a stream
	setAffinityHeaders(r.Header, req)
	if m.scheme == AuthCopilot {
		setCopilotHeaders(r.Header, req)
	}
	for name, values := range m.headers {
		r.Header[name] = slices.Clone(values)
	}
	overlayHeaders(r.Header, req.Headers)
	if r.Header.Get(betaHeader) == "" {
		r.Header.Del(betaHeader)
	}
	if p, ok := m.protocol.(betaLister); ok {
		addBetas(r.Header, p.BetaFeatures(req))
	}
	return r, nil
}

// buildURL returns the URL of a request for the model, with the queries of both the base URL and the protocol.
func (m *Model) buildURL(model string) string {
	path, query, _ := strings.Cut(m.protocol.RequestPath(model), "?")
	out := m.base
	if m.deployments {
		out += "/deployments/" + url.PathEscape(model)
	}
	out += "/" + strings.TrimPrefix(path, "/")
	sep := "?"
	for _, q := range []string{m.query, query} {
		if q != "" {
			out += sep + q
			sep = "&"
		}
	}
	return out
}

// send performs the exchange up to the response header. Its error is always an *llm.Error.
func (m *Model) send(ctx context.Context, dog *llm.Watchdog, r *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { dog.MarkConnected() },
		WroteRequest: func(httptrace.WroteRequestInfo) { dog.MarkConnected() },
	}
	resp, err := m.client.Do(r.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil {
		return nil, llm.AsError(ctx, transportError(m.host, err))
	}
	dog.MarkByte()
	return resp, nil
}

// maxErrorBody bounds the bytes that are read of an error's body.
const maxErrorBody = 64 << 10

// readFailure reads the body of a failed response and classifies it.
func (m *Model) readFailure(ctx context.Context, resp *http.Response, body io.Reader, secrets []string) *llm.Error {
	// Read a bounded part of the body; what arrived before an error still tells the reason.
	data, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
	if err != nil && context.Cause(ctx) != nil {
		return llm.AsError(ctx, err)
	}
	// A proxy refused, not the provider.
	if resp.StatusCode == http.StatusProxyAuthRequired {
		return proxyRefusal("in between", m.host, resp)
	}
	e := wire.ClassifyFailure(wire.Failure{
		Status: resp.StatusCode, Header: resp.Header, Body: data, Secrets: secrets, Now: time.Now(),
	})
	// Add what helps with a wrong key that a file holds, or an unknown model.
	switch {
	case e.Class == llm.Auth:
		e.Message += m.keyAdvice
	case resp.StatusCode == http.StatusNotFound && strings.Contains(strings.ToLower(e.Message), "model"):
		e.Message += "; cairn models lists the models"
	}
	// Add what helps with a wrong address: the address itself, or where it redirects to.
	if resp.StatusCode == http.StatusNotFound && resp.Request != nil && blamesAddress(e.Message) {
		at := resp.Request.URL
		e.Message += fmt.Sprintf(" (at %s://%s%s)", at.Scheme, at.Host, at.EscapedPath())
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.Message = fmt.Sprintf(
			"%s redirects to %s; cairn does not follow redirects to another host: if the address is right, "+
				"set it as the base URL",
			m.host, redirectTarget(resp),
		)
	}
	return e
}

// blamesAddress reports whether the message of a 404 says that the address does not exist, rather than the model.
func blamesAddress(message string) bool {
	text := strings.ToLower(message)
	return !strings.Contains(text, "model") && (strings.Contains(text, "not found") || strings.Contains(text, "404"))
}

// redirectTarget returns the target of a redirect without path and query.
func redirectTarget(resp *http.Response) string {
	to, err := resp.Location()
	if err != nil {
		return "nowhere"
	}
	return to.Scheme + "://" + to.Host
}

// collectSecrets returns the values of a request that must not occur in an error, with and without their authentication
// scheme: those of its headers, and those in tool declarations, such as the credentials of a server that the vendor
// calls.
func collectSecrets(sent http.Header, req *llm.Request) []string {
	var out []string
	add := func(v string) {
		_, credential, _ := strings.Cut(v, " ")
		out = append(out, v, credential)
	}
	// Headers by their names.
	for name, values := range sent {
		name = strings.ToLower(name)
		if slices.ContainsFunc(
			[]string{"auth", "key", "token", "secret", "cookie"},
			func(w string) bool { return strings.Contains(name, w) },
		) {
			for _, v := range values {
				add(v)
			}
		}
	}
	// Declarations of hosted tools.
	for _, tool := range req.Tools {
		for _, v := range redact.FindSecrets(tool.Hosted, redact.IsCredentialName) {
			add(v)
		}
	}
	return out
}
