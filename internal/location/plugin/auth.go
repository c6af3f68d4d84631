package plugin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Auth is how a plugin logs in at a provider, and whether it changes requests to it.
type Auth struct {
	Provider  string   `json:"provider"`
	HasLoader bool     `json:"hasLoader"`
	Methods   []Method `json:"methods"`
}

// Method is one way to log in.
type Method struct {
	Type  string `json:"type"` // oauth or api
	Label string `json:"label"`
}

// Logins returns the ways to log in that plugins offer, by provider. Of two plugins for one provider the first counts.
func (s *State) Logins() map[string]Auth {
	out := map[string]Auth{}
	for _, o := range s.Plugins {
		for _, a := range o.Auths {
			if _, ok := out[a.Provider]; !ok {
				out[a.Provider] = a
			}
		}
	}
	return out
}

// isOfOnePlugin reports whether the logins of both providers are those of one plugin.
func (s *State) isOfOnePlugin(a, b string) bool {
	owner := map[string]string{}
	for _, o := range s.Plugins {
		for _, login := range o.Auths {
			owner[login.Provider] = cmp.Or(owner[login.Provider], o.ID)
		}
	}
	return owner[a] != "" && owner[a] == owner[b]
}

// Authorization says where a person logs in. Method is "auto" if the login ends by itself, and "code" if the person gets
// a code to type.
type Authorization struct {
	URL          string `json:"url"`
	Instructions string `json:"instructions"`
	Method       string `json:"method"`
}

// Credential is what a login gives: a key, or tokens.
type Credential struct {
	Type     string `json:"type"` // success or failed
	Provider string `json:"provider"`
	Key      string `json:"key"`
	Refresh  string `json:"refresh"`
	Access   string `json:"access"`
	Expires  int64  `json:"expires"` // of Access, milliseconds since the Unix epoch; 0 is never
}

// errLogin is the error of a login that the plugin reports as failed.
var errLogin = errors.New("the login failed")

// beginTime bounds the wait for the page of a login.
const beginTime = 30 * time.Second

// LogIn logs in at a provider with the method of the index. show is called with the page to open; code asks the person for
// the code of a login whose method is "code".
func (s *Set) LogIn(
	ctx context.Context, provider string, method int, dialog LoginDialog,
) (Credential, error) {
	params := object{"provider": provider, "method": method, "inputs": dialog.Inputs}
	var begun struct {
		Authorization
		Result *Credential `json:"result"`
	}
	begin, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	if err := s.call(begin, "auth/authorize", params, &begun, nil); err != nil {
		return Credential{}, err
	}
	result := begun.Result
	if result == nil {
		if u, err := url.Parse(begun.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return Credential{}, fmt.Errorf("the plugin named %.200q, which is no page to log in", begun.URL)
		}
		dialog.Show(begun.Authorization)
		end := object{"provider": provider}
		if begun.Method == "code" {
			code, err := dialog.Code(ctx)
			if err != nil {
				return Credential{}, err
			}
			end["code"] = code
		}
		result = &Credential{}
		if err := s.call(ctx, "auth/callback", end, result, nil); err != nil {
			return Credential{}, err
		}
	}
	if result.Type != "success" || result.Key == "" && result.Refresh == "" {
		return Credential{}, errLogin
	}
	// A plugin that logs in at several providers may give the credential of another one of them.
	if result.Provider == "" {
		result.Provider = provider
	}
	c, err := s.connect(ctx)
	if err != nil {
		return Credential{}, err
	}
	if result.Provider != provider && !c.state.isOfOnePlugin(provider, result.Provider) {
		return Credential{}, fmt.Errorf("the plugin logged in at %.80q, which is not its provider", result.Provider)
	}
	return *result, nil
}

// LoginDialog is what a login needs of a person.
type LoginDialog struct {
	Inputs map[string]string
	Show   func(Authorization)
	Code   func(ctx context.Context) (string, error)
}

// LoadAuth asks the plugin for the options of a provider that is logged in. Info is the provider in OpenCode's form. hasFetch
// reports that requests to it go through Transport.
func (s *Set) LoadAuth(ctx context.Context, provider string, info jsontext.Value) (
	options map[string]jsontext.Value, hasFetch bool, err error,
) {
	var out struct {
		Options  map[string]jsontext.Value `json:"options"`
		HasFetch bool                      `json:"hasFetch"`
	}
	err = s.call(ctx, "auth/load", object{"provider": provider, "info": info}, &out, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.logins, provider); err == nil {
		s.logins[provider] = info
	}
	return out.Options, out.HasFetch, err
}

// Models asks the plugins for the models of a provider, in OpenCode's second form; nil if none has any.
func (s *Set) Models(ctx context.Context, provider string, info, auth jsontext.Value) (map[string]jsontext.Value, error) {
	var out map[string]jsontext.Value
	params := object{"provider": provider, "info": info}
	if auth != nil {
		params["auth"] = auth
	}
	err := s.call(ctx, "models", params, &out, nil)
	return out, err
}

// ModelProviders returns the providers for which plugins have models.
func (s *State) ModelProviders() (out []string) {
	for _, o := range s.Plugins {
		out = append(out, o.Models...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Transport sends requests to a provider with the fetch of the plugin that LoadAuth has asked.
func (s *Set) Transport(provider string) http.RoundTripper { return authTransport{s, provider} }

type authTransport struct {
	set      *Set
	provider string
}

// maxRequestBody bounds the body of a request that a plugin sends, in bytes.
const maxRequestBody = 48 << 20

// RoundTrip implements http.RoundTripper.
func (t authTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(r.Body, maxRequestBody+1))
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		if len(body) > maxRequestBody {
			return nil, fmt.Errorf("the request has more than %d bytes", maxRequestBody)
		}
	}
	headers := map[string]string{}
	for name := range r.Header {
		headers[name] = r.Header.Get(name)
	}
	// The pieces of the answer are taken while the request is under way.
	stream, content := t.set.responses.add()
	var head apiHead
	err := t.set.call(r.Context(), "auth/fetch", object{
		"provider": t.provider, "stream": stream, "method": r.Method, "url": r.URL.String(), "headers": headers,
		"body": base64.StdEncoding.EncodeToString(body),
	}, &head, func(p *peer, _ int64) { content.setSource(p) })
	if err != nil {
		t.set.responses.end(stream, err)
		return nil, fmt.Errorf("the plugin that sends requests to %s failed: %w", t.provider, err)
	}
	// The end of the request, or of the reading, ends it at the provider too.
	end := sync.OnceFunc(func() {
		if t.set.responses.end(stream, cmp.Or(context.Cause(r.Context()), errUnread)) {
			t.set.tell("response/cancel", object{"stream": stream})
		}
	})
	stop := context.AfterFunc(r.Context(), end)
	content.onClose = func() {
		stop()
		end()
	}
	answer := &http.Response{
		Status: http.StatusText(head.Status), StatusCode: head.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: content, ContentLength: -1, Request: r,
	}
	for name, value := range head.Headers {
		if name := http.CanonicalHeaderKey(name); name != "Content-Encoding" && name != "Content-Length" { // fetch has decoded it
			answer.Header.Set(name, value)
		}
	}
	return answer, nil
}

// responses are the answers of auth/fetch whose bodies are not complete. The zero value is ready to use.
type responses struct {
	last atomic.Int64

	mu   sync.Mutex // guards open
	open map[int64]*content
}

// add returns the number of a new answer and its body.
func (a *responses) add() (int64, *content) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.last.Add(1)
	c := &content{}
	c.changed.L = &c.mu
	if a.open == nil {
		a.open = map[int64]*content{}
	}
	a.open[n] = c
	return n, c
}

// write adds a piece to a body; one that has ended takes none.
func (a *responses) write(stream int64, data []byte) {
	a.mu.Lock()
	c := a.open[stream]
	a.mu.Unlock()
	if c != nil && !c.write(data) {
		a.end(stream, errors.New("the answer is not read in time"))
	}
}

// errUnread ends the body of an answer that its reader has closed.
var errUnread = errors.New("the answer is not read any more")

// end ends a body; nil is its regular end. It reports whether the body was open.
func (a *responses) end(stream int64, err error) bool {
	a.mu.Lock()
	c := a.open[stream]
	delete(a.open, stream)
	a.mu.Unlock()
	if c != nil {
		c.finish(err)
	}
	return c != nil
}

// endAll ends the bodies of a program that has ended.
func (a *responses) endAll(p *peer, err error) {
	a.mu.Lock()
	open := maps.Clone(a.open)
	a.mu.Unlock()
	for stream, c := range open {
		if c.isOf(p) {
			a.end(stream, err)
		}
	}
}

// content is the body of an answer. Its writer never waits, so it holds what is not read, up to maxContent.
type content struct {
	onClose func()

	mu      sync.Mutex // guards the rest
	source  *peer      // the program that sends it; nil before the request is sent
	changed sync.Cond
	unread  bytes.Buffer
	isEnded bool
	err     error // after unread; nil is the end
}

// maxContent bounds what is not read of a body, in bytes.
const maxContent = 32 << 20

func (c *content) write(data []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unread.Len()+len(data) > maxContent {
		return false
	}
	c.unread.Write(data)
	c.changed.Broadcast()
	return true
}

func (c *content) setSource(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.source = p
}

func (c *content) isOf(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.source == p
}

func (c *content) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isEnded {
		c.isEnded, c.err = true, err
	}
	c.changed.Broadcast()
}

// Read implements io.Reader.
func (c *content) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.unread.Len() == 0 && !c.isEnded {
		c.changed.Wait()
	}
	if c.unread.Len() > 0 {
		return c.unread.Read(b)
	}
	if c.err != nil {
		return 0, c.err
	}
	return 0, io.EOF
}

// Close implements io.Closer.
func (c *content) Close() error {
	c.onClose()
	return nil
}

// takeChunk takes a piece of an answer, or its end.
func (s *Set) takeChunk(method string, params jsontext.Value) {
	var p struct {
		Stream int64  `json:"stream"`
		Data   string `json:"data"`
		Error  string `json:"error"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	switch {
	case method == "response/chunk" && err == nil:
		s.responses.write(p.Stream, data)
	case p.Error != "":
		s.responses.end(p.Stream, errors.New(p.Error))
	default:
		s.responses.end(p.Stream, err)
	}
}

// findCredential returns what is stored for a provider at which a plugin logs in, for that plugin.
func (a *answers) findCredential(params jsontext.Value) (any, error) {
	var p struct {
		Provider string `json:"provider"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	a.set.mu.Lock()
	find, logins := a.set.location.Credential, a.child.state.Logins()
	a.set.mu.Unlock()
	if _, ok := logins[p.Provider]; !ok || find == nil {
		return nil, fmt.Errorf("no plugin logs in at %q, so none gets its credential", p.Provider)
	}
	return find(p.Provider)
}
