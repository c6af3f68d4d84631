// Package provider turns a vendor, a key and a model's facts into an llm.Model: protocol, endpoint and
// authentication put together (spec/v2 §20.1 LM-3, §21.3).
//
// What it promises. A key goes only to the host of the endpoint that it was configured with: redirects elsewhere are
// refused, and Config.KeyHosts can pin the hosts. Each turn runs under the three clocks of llm.Watch, never under a
// total time. One Stream is one request: trying again is the engine's decision. Answers are bounded in size. No key
// ever stands in an error.
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
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Config is what a Model is made of.
type Config struct {
	Vendor Vendor
	// Key is the credential; empty for endpoints that need none.
	Key string
	// Credential, if not nil, takes Key's place: one that is fetched, renewed or signed with.
	Credential Credential
	// KeyHosts, if not empty, are the only hosts (with port, if not the scheme's own) that may receive Key and
	// Headers. Set it when the endpoint comes from a less trusted place than the key, such as a project's file.
	KeyHosts []string
	// Facts are the model's properties that change the wire.
	Facts Facts
	// Headers go with every request, before the request's own.
	Headers map[string]string
	// Transport sends the requests; share one among models so that connections are reused. Nil means NewTransport().
	Transport http.RoundTripper
}

// Facts are what the wire depends on, by model.
type Facts struct {
	ModelID   string
	Reasoning bool
	// ReasoningField is the field in which the vendor wants earlier reasoning back, if the catalog names one.
	ReasoningField string
	// Structured is whether the model's answers can be held to a schema; nil is unknown.
	Structured *bool
}

// Model is an llm.Model over HTTP. It is safe for concurrent use.
type Model struct {
	protocol Protocol
	facts    wireFacts
	base     string // without a slash at its end
	query    string
	deployed bool // the model stands in the path
	scheme   Scheme
	host     string
	forms    llm.SchemaSupport
	// hostedAlone says that the vendor's own tools go only without others.
	hostedAlone bool
	credential  Credential
	headers     http.Header
	client      *http.Client
}

var _ llm.Model = (*Model)(nil)

// New checks the configuration and returns a Model; it does no I/O. The error says what to change and never holds
// the key.
func New(c Config) (*Model, error) {
	protocol, spoken := c.Vendor.Wire.speak(c.Vendor, c.Facts)
	if !spoken {
		return nil, fmt.Errorf("provider %q speaks a protocol that this cairn does not know yet (%s)", c.Vendor.ID, c.Vendor.Wire)
	}
	base, err := endpoint(c.Vendor)
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(c.Key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, fmt.Errorf("the key of provider %q holds a space, a line break or a character that is not ASCII; enter it again", c.Vendor.ID)
	}
	if key == "" && c.Credential == nil && needsKey(c.Vendor.ID, base.Host) {
		return nil, fmt.Errorf("provider %q needs a key: set %s or log in", c.Vendor.ID, strings.Join(c.Vendor.KeyEnv, " or "))
	}
	if len(c.KeyHosts) > 0 && (key != "" || c.Credential != nil || len(c.Headers) > 0) && !slices.Contains(c.KeyHosts, base.Host) {
		return nil, fmt.Errorf("the key of provider %q is for %s and is not sent to %s", c.Vendor.ID, strings.Join(c.KeyHosts, ", "), base.Host)
	}
	if err := checkHeaders(c.Headers); err != nil {
		return nil, fmt.Errorf("provider %q: %w", c.Vendor.ID, err)
	}
	transport := c.Transport
	if transport == nil {
		transport = NewTransport()
	}
	facts := c.Vendor.Wire.facts()
	m := &Model{
		protocol: protocol, facts: facts, host: base.Host, query: base.RawQuery, deployed: c.Vendor.Deployments, scheme: c.Vendor.Scheme,
		forms: forms(c.Vendor, c.Facts), hostedAlone: c.Vendor.HostedAlone(c.Facts.ModelID), credential: c.Credential,
		headers: http.Header{},
		client:  &http.Client{Transport: transport, CheckRedirect: SameOrigin},
	}
	for _, headers := range []map[string]string{facts.headers, c.Vendor.Headers, c.Headers} {
		lay(m.headers, headers)
	}
	if m.credential == nil {
		m.credential = keyFor(c.Vendor, key)
	}
	base.RawQuery = ""
	m.base = strings.TrimRight(base.String(), "/")
	return m, nil
}

// Forms says how far the vendor holds the model's answers to a request's Format.
func (m *Model) Forms() llm.SchemaSupport { return m.forms }

// Holds reports whether the vendor takes that schema for a request's Format; one that it does not must be told by a tool.
func (m *Model) Holds(schema jsontext.Value) bool {
	picky, ok := m.protocol.(interface {
		Holds(schema jsontext.Value) bool
	})
	return !ok || picky.Holds(schema)
}

// HostedAlone reports whether the vendor runs tools itself only in turns that offer no others.
func (m *Model) HostedAlone() bool { return m.hostedAlone }

// needsKey reports whether the host is that of a vendor of the table. Elsewhere, a server of the user's own may do
// without a key.
func needsKey(id, host string) bool {
	row, known := Find(id)
	own, err := endpoint(row)
	return known && len(row.KeyEnv) > 0 && err == nil && own.Host == host
}

func endpoint(v Vendor) (*url.URL, error) {
	if v.BaseURL == "" {
		return nil, fmt.Errorf("provider %q has no base URL; set options.baseURL in its configuration", v.ID)
	}
	base, err := url.Parse(v.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("the base URL of provider %q must look like https://host/v1", v.ID)
	}
	if base.User != nil {
		return nil, fmt.Errorf("the base URL of provider %q must not hold a user name or password; use a key or a header", v.ID)
	}
	base.Fragment = ""
	base.Path = strings.TrimRight(base.Path, "/")
	for _, suffix := range v.Wire.facts().suffixes {
		base.Path = strings.TrimSuffix(base.Path, suffix)
	}
	return base, nil
}

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		body, err := m.protocol.Encode(req)
		if err != nil {
			yield(nil, llm.AsError(ctx, err))
			return
		}
		if err := checkHeaders(req.Headers); err != nil {
			yield(nil, &llm.Error{Class: llm.InvalidRequest, Message: err.Error()})
			return
		}
		ctx, dog := llm.Watch(ctx, req.Clocks)
		defer dog.Stop()
		resp, sent, err := m.exchange(ctx, dog, req, body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		answer := newAnswer(ctx, dog, resp)
		sealed := secrets(sent.Header, req)
		if !good(resp) {
			e := m.failure(ctx, resp, answer, sealed)
			if !e.IsRetryable() {
				e.RejectedMedia = wire.FindRejectedMedia(body, e.Message+"\n"+e.Body, req)
			}
			yield(nil, e)
			return
		}
		for e, err := range m.protocol.Decode(wire.FindRequestID(resp.Header), answer, sealed...) {
			if !yield(e, err) || err != nil {
				return
			}
		}
		drain(answer, dog)
	}
}

func good(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }

// exchange sends the request, and once more when the vendor refuses a credential of which there is a newer one. It
// returns what was sent beside the answer.
func (m *Model) exchange(ctx context.Context, dog *llm.Watchdog, req *llm.Request, body []byte) (*http.Response, *http.Request, error) {
	for again := false; ; again = true {
		r, err := m.request(req, body)
		if err != nil {
			return nil, nil, err
		}
		if err := m.credential.Authorize(ctx, r, body); err != nil {
			return nil, nil, unauthorized(ctx, err)
		}
		resp, err := m.send(ctx, dog, r)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || again {
			return resp, r, err
		}
		if renewed, err := m.credential.Renew(ctx, r); err != nil || !renewed {
			return resp, r, nil // the vendor's own words say it best
		}
		_ = resp.Body.Close() // nobody reads it
	}
}

// unauthorized is the error of a credential that could not be had.
func unauthorized(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*llm.Error](err); ok || context.Cause(ctx) != nil {
		return llm.AsError(ctx, err)
	}
	return &llm.Error{Class: llm.Auth, Message: err.Error(), Err: err}
}

// request builds the HTTP request; authentication comes after it, so that nothing overrides it.
func (m *Model) request(req *llm.Request, body []byte) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, m.url(req.Model), bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Class: llm.InvalidRequest, Message: fmt.Sprintf("the model's name %.80q does not make an address", req.Model)}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", cmp.Or(m.facts.accept, "text/event-stream"))
	r.Header.Set("Accept-Encoding", "identity") // a compressed stream arrives in lumps
	r.Header["Idempotency-Key"] = []string{}    // not sent; a kept connection that turns out to be broken is no failure
	affinityHeaders(r.Header, req)
	if m.scheme == ByCopilot {
		copilotHeaders(r.Header, req)
	}
	for name, values := range m.headers {
		r.Header[name] = slices.Clone(values)
	}
	lay(r.Header, req.Headers)
	if r.Header.Get(betaHeader) == "" {
		r.Header.Del(betaHeader)
	}
	if p, ok := m.protocol.(interface {
		Betas(req *llm.Request) []string
	}); ok {
		addBetas(r.Header, p.Betas(req))
	}
	return r, nil
}

// url is where a request for the model goes: the queries of base URL and protocol both count.
func (m *Model) url(model string) string {
	path, query, _ := strings.Cut(m.protocol.Path(model), "?")
	out := m.base
	if m.deployed {
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

// send does the exchange up to the response's header. Its error is always an *llm.Error.
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

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// failure reads the body of a response that is no answer and gives it its class.
func (m *Model) failure(ctx context.Context, resp *http.Response, body io.Reader, secrets []string) *llm.Error {
	data, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
	if err != nil && context.Cause(ctx) != nil {
		return llm.AsError(ctx, err)
	}
	if resp.StatusCode == http.StatusProxyAuthRequired {
		return refusedBy("in between", m.host, resp)
	}
	e := wire.ClassifyFailure(wire.Failure{
		Status: resp.StatusCode, Header: resp.Header, Body: data, Secrets: secrets, Now: time.Now(),
	})
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.Message = fmt.Sprintf("%s redirects to %s, and requests are not sent on to another address; if it is the right one, set it as the base URL", m.host, target(resp))
	}
	return e
}

// target names where a redirect points, without path or query.
func target(resp *http.Response) string {
	to, err := resp.Location()
	if err != nil {
		return "nowhere"
	}
	return to.Scheme + "://" + to.Host
}

// secrets are the values of a request that must not come back in an error, with and without the scheme before them: those of
// its headers, and of the tools that a user has declared, such as the way into a server that the vendor calls.
func secrets(sent http.Header, req *llm.Request) []string {
	var out []string
	add := func(v string) {
		_, credential, _ := strings.Cut(v, " ")
		out = append(out, v, credential)
	}
	for name, values := range sent {
		name = strings.ToLower(name)
		if slices.ContainsFunc([]string{"auth", "key", "token", "secret", "cookie"}, func(w string) bool { return strings.Contains(name, w) }) {
			for _, v := range values {
				add(v)
			}
		}
	}
	for _, tool := range req.Tools {
		for _, v := range redact.FindSecrets(tool.Hosted, redact.IsCredentialName) {
			add(v)
		}
	}
	return out
}
