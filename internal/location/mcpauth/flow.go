package mcpauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	stored "github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/session"
)

// Flow is a login that waits for a person.
type Flow struct {
	URL   string // to open in a browser
	State string // names the login in the answer
}

// flow is a Flow with what its end needs.
type flow struct {
	Flow
	key      string // of the server
	login    login  // without its token
	verifier string
	wantsIss bool // the server says that its answers have the issuer
	ends     time.Time
}

// Logins that wait for a person are bounded in number and time.
const (
	maxFlows = 16
	flowTime = 10 * time.Minute
)

// Start begins a login at a server: it finds the authorization server and registers cairn there unless the
// configuration has a client. The caller shows the address of the Flow to a person and calls Finish. A login that has
// begun before at the server is given up. An error is a *session.Error.
func (l *Logins) Start(ctx context.Context, name string, c config.MCP) (Flow, error) {
	s, ok, err := readSettings(c)
	if err == nil && !ok {
		err = errors.New("it uses no login: it is local, or its configuration says oauth false")
	}
	if err != nil {
		return Flow{}, failLogin(name, err)
	}
	f, err := l.prepare(ctx, name, c, s)
	if err != nil {
		return Flow{}, failLogin(name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flows = slices.DeleteFunc(l.flows, func(old *flow) bool { return time.Now().After(old.ends) || old.key == f.key })
	if len(l.flows) >= maxFlows {
		l.flows = l.flows[1:]
	}
	l.flows = append(l.flows, f)
	return f.Flow, nil
}

// prepare does what comes before a person is asked.
func (l *Logins) prepare(ctx context.Context, name string, c config.MCP, s settings) (*flow, error) {
	// Find the authorization server. It must be the one of the login before, if there was one.
	client := newClient(ctx, c.URL)
	challenges, err := readChallenges(ctx, client, c.URL)
	if err != nil {
		return nil, err
	}
	found, err := discover(ctx, client, c.URL, challenges)
	if err != nil {
		return nil, err
	}
	before, ok, err := l.read(ctx, name, c)
	if err != nil {
		return nil, err
	}
	if ok && before.Issuer != found.server.Issuer {
		const text = "its authorization server changed from %s to %s; if that is meant, run cairn mcp logout %s first"
		return nil, fmt.Errorf(text, before.Issuer, cutLine(found.server.Issuer), name)
	}
	// Take the client of the configuration, of the login before, or a new one.
	one := login{details: details{
		URL: canonicalURL(c.URL), Resource: found.resource, Issuer: found.server.Issuer, Token: found.server.TokenEndpoint,
		Revocation: found.server.RevocationEndpoint, RedirectURI: s.redirectURI(),
	}}
	scopes := found.scopes
	if s.Scope != "" {
		scopes = strings.Fields(s.Scope)
	} else if offline := "offline_access"; slices.Contains(found.server.ScopesSupported, offline) &&
		!slices.Contains(scopes, offline) {
		scopes = append(slices.Clip(scopes), "offline_access")
	}
	if ok && len(before.Wanted) > 0 { // keep what the login before was for
		scopes = slices.Concat(before.Scopes, before.Wanted)
		slices.Sort(scopes)
		scopes = slices.Compact(scopes)
	}
	one.Scopes = scopes
	switch {
	case s.ClientID != "":
		one.ClientID, one.secret = s.ClientID, stored.NewSecret(s.ClientSecret)
		one.InHeader = prefersHeader(found.server.TokenEndpointAuthMethodsSupported)
	case ok && before.Registered && before.RedirectURI == one.RedirectURI:
		one.ClientID, one.secret, one.InHeader, one.Registered = before.ClientID, before.secret, before.InHeader, true
	case found.server.RegistrationEndpoint == "":
		return nil, errRegistration(name)
	default:
		if err := one.register(ctx, client, found.server, scopes); err != nil {
			return nil, err
		}
	}
	found.scopes = scopes
	return newFlow(name, c, one, found)
}

// prefersHeader reports whether a client secret is sent in a header (RFC 7591, section 2: that is the default).
func prefersHeader(methods []string) bool {
	return !slices.Contains(methods, "client_secret_post")
}

// register registers cairn as a client (RFC 7591).
func (l *login) register(
	ctx context.Context, client *http.Client, server *oauthex.AuthServerMeta, scopes []string,
) error {
	method := "none"
	if m := server.TokenEndpointAuthMethodsSupported; len(m) > 0 && !slices.Contains(m, "none") {
		method = m[0]
	}
	answer, err := oauthex.RegisterClient(ctx, server.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{l.RedirectURI}, ClientName: "cairn", GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: method, ApplicationType: "native",
		Scope: strings.Join(scopes, " "),
	}, client)
	if err != nil {
		return fmt.Errorf("register cairn at %s: %w", cutLine(server.Issuer), err)
	}
	l.ClientID, l.secret, l.Registered = answer.ClientID, stored.NewSecret(answer.ClientSecret), true
	l.InHeader = cmp.Or(answer.TokenEndpointAuthMethod, method) == "client_secret_basic"
	return nil
}

// newFlow returns the flow with its address.
func newFlow(name string, c config.MCP, l login, found metadata) (*flow, error) {
	u, err := url.Parse(found.server.AuthorizationEndpoint)
	if err != nil || u.Host == "" {
		return nil, errors.New("the address of its login page is invalid")
	}
	if err := checkScheme(u); err != nil {
		return nil, fmt.Errorf("its login page: %w", err)
	}
	f := &flow{
		key: key(name, c), login: l, verifier: oauth2.GenerateVerifier(), ends: time.Now().Add(flowTime),
		wantsIss: found.server.AuthorizationResponseIssParameterSupported,
	}
	f.State = rand.Text()
	q := u.Query()
	for k, v := range map[string]string{
		"response_type": "code", "client_id": l.ClientID, "redirect_uri": l.RedirectURI, "state": f.State,
		"code_challenge": oauth2.S256ChallengeFromVerifier(f.verifier), "code_challenge_method": "S256", "resource": l.Resource,
	} {
		q.Set(k, v)
	}
	if len(found.scopes) > 0 {
		q.Set("scope", strings.Join(found.scopes, " "))
	}
	u.RawQuery = q.Encode()
	f.URL = u.String()
	return f, nil
}

// Finish ends the login that has begun at a server with the answer to it: the address that the browser was sent to, its
// query, or the code alone. It stores the login. An error is a *session.Error.
func (l *Logins) Finish(ctx context.Context, name string, c config.MCP, answer string) error {
	f := l.removeFlow(key(name, c))
	if f == nil {
		return failLogin(name, errors.New("no login waits for this answer; begin again"))
	}
	given := parseAnswer(answer)
	if err := f.check(given); err != nil {
		return failLogin(name, err)
	}
	token, err := requestToken(ctx, f.login, url.Values{
		"grant_type": {"authorization_code"}, "code": {given.Get("code")}, "redirect_uri": {f.login.RedirectURI},
		"code_verifier": {f.verifier}, "resource": {f.login.Resource},
	})
	if err == nil {
		f.login.Token = token
		err = l.withLock(ctx, name, c, func() error { return l.write(ctx, name, c, f.login) })
	}
	return failLogin(name, err)
}

// failLogin returns the error of a login; nil for nil.
func failLogin(name string, err error) error {
	if err == nil {
		return nil
	}
	text := mcp.DescribeError(err)
	failed := session.Errorf(session.CodeUnavailable, "log in at the MCP server %s: %s", name, text).Because(err)
	failed.Kind = "mcp" // no other cairn would do better
	return failed
}

// removeFlow removes the flow of a server and returns it; nil without one.
func (l *Logins) removeFlow(key string) *flow {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, f := range l.flows {
		if f.key == key && time.Now().Before(f.ends) {
			l.flows = slices.Delete(l.flows, i, i+1)
			return f
		}
	}
	return nil
}

// parseAnswer returns the parameters of an answer.
func parseAnswer(answer string) url.Values {
	answer = strings.TrimSpace(answer)
	if u, err := url.Parse(answer); err == nil && u.RawQuery != "" {
		return u.Query()
	}
	if q, err := url.ParseQuery(strings.TrimPrefix(answer, "?")); err == nil && q.Has("code") {
		return q
	}
	return url.Values{"code": {answer}}
}

// check checks the parameters of an answer: its state, and the issuer (RFC 9207).
func (f *flow) check(given url.Values) error {
	iss := given.Get("iss")
	switch {
	case given.Has("state") && given.Get("state") != f.State:
		return errors.New("the answer is that of another login")
	case iss != "" && iss != f.login.Issuer:
		return fmt.Errorf("the answer is from another authorization server, %s", cutLine(iss))
	case iss == "" && f.wantsIss && given.Has("state"):
		return errors.New("the answer does not name its authorization server")
	case given.Get("error") != "":
		return fmt.Errorf("it was refused: %s %s", cutLine(given.Get("error")), cutLine(given.Get("error_description")))
	case given.Get("code") == "":
		return errors.New("the answer has no code")
	}
	return nil
}
