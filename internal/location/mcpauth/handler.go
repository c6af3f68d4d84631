package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	stored "github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
)

// handler implements the SDK's OAuthHandler with the stored login of a server.
type handler struct {
	logins   *Logins
	name     string
	config   config.MCP
	settings settings
}

// TokenSource returns the source of the stored login; nil without one, as many servers need none.
func (h *handler) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	found, ok, err := h.logins.read(ctx, h.name, h.config)
	if err != nil || !ok || found.Access.IsZero() && found.Refresh.IsZero() {
		return nil, err
	}
	return tokenSource(func() (*oauth2.Token, error) { return h.readToken(ctx) }), nil
}

// tokenSource implements oauth2.TokenSource for one request.
type tokenSource func() (*oauth2.Token, error)

// Token calls the function.
func (f tokenSource) Token() (*oauth2.Token, error) { return f() }

// readToken returns a token that is valid now.
func (h *handler) readToken(ctx context.Context) (*oauth2.Token, error) {
	found, ok, err := h.logins.read(ctx, h.name, h.config)
	if err != nil {
		return nil, err
	}
	token := found.Token
	if !ok || !isFresh(token) {
		if token, err = h.logins.renew(ctx, h.name, h.config, found.Access); err != nil {
			return nil, err
		}
	}
	return &oauth2.Token{AccessToken: token.Access.Reveal()}, nil
}

// expiryMargin is the remaining validity at which a token is renewed. Tokens of MCP servers may be valid for a minute.
const expiryMargin = 10 * time.Second

func isFresh(t stored.Token) bool {
	return !t.Access.IsZero() && (t.Expires.IsZero() || time.Until(t.Expires) > expiryMargin)
}

// renewTime bounds the renewal of a token.
const renewTime = 30 * time.Second

// renew returns another token than old: the stored one if another process has renewed it, else one that the server
// issues for the refresh token.
func (l *Logins) renew(
	ctx context.Context, name string, c config.MCP, old stored.Secret,
) (out stored.Token, err error) {
	// A renewal goes on when its request is given up: the refresh token may have been used.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
	defer cancel()
	err = l.withLock(ctx, name, c, func() error {
		found, ok, err := l.read(ctx, name, c)
		switch {
		case err != nil:
			return err
		case ok && !found.Access.Equal(old) && isFresh(found.Token):
			out = found.Token
			return nil
		case !ok || found.Refresh.IsZero():
			return mcp.NeedLogin(name, "")
		}
		token, err := refresh(ctx, found)
		if failed, is := errors.AsType[*tokenError](err); is && failed.isFinal() {
			// The login is over. Forget its tokens, so that no other request tries them.
			found.Token = stored.Token{}
			return errors.Join(
				mcp.NeedLogin(name, "("+failed.Error()+")"),
				l.write(ctx, name, c, found),
			)
		}
		if err != nil {
			return err
		}
		found.Token, out = token, token
		return l.write(ctx, name, c, found)
	})
	return out, err
}

// refresh uses the refresh token of a login.
func refresh(ctx context.Context, l login) (stored.Token, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh.Reveal()}, "resource": {l.Resource}}
	token, err := requestToken(ctx, l, form)
	if err == nil && token.Refresh.IsZero() {
		token.Refresh = l.Refresh // the server goes on with it
	}
	return token, err
}

// Authorize implements the SDK's OAuthHandler: a request was refused. It renews the token if that can help; it never
// begins a login. Its error says what a person can do.
func (h *handler) Authorize(ctx context.Context, r *http.Request, resp *http.Response) error {
	// Read what is missing.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
	_ = resp.Body.Close()
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		challenges = nil // it is refused all the same
	}
	if resp.StatusCode == http.StatusForbidden {
		if findParam(challenges, "error") == "insufficient_scope" {
			return h.wantScopes(ctx, findParam(challenges, "scope"))
		}
		return nil // another login would not help: the request is repeated and fails
	}
	// Take the token that another process has renewed, or renew it.
	found, ok, err := h.logins.read(ctx, h.name, h.config)
	if err != nil {
		return err
	}
	sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case ok && isFresh(found.Token) && found.Access.Reveal() != sent:
		return nil // another process has renewed it
	case ok && !found.Refresh.IsZero():
		_, err := h.logins.renew(ctx, h.name, h.config, stored.NewSecret(sent))
		return err
	case !ok && h.settings.ClientID == "":
		m, err := discover(ctx, newClient(ctx, h.config.URL), h.config.URL, challenges)
		if err == nil && m.server.RegistrationEndpoint == "" {
			return errRegistration(h.name)
		}
	}
	return mcp.NeedLogin(h.name, "")
}

// maxWanted bounds the scopes that a server asks for.
const maxWanted = 50

// wantScopes stores that the next login, in whatever process, asks for more scopes, and returns the error for the refused
// request.
func (h *handler) wantScopes(ctx context.Context, scope string) error {
	more := strings.Fields(scope)
	err := h.logins.withLock(ctx, h.name, h.config, func() error {
		found, ok, err := h.logins.read(ctx, h.name, h.config)
		if err != nil || !ok {
			return err
		}
		found.Wanted = more[:min(len(more), maxWanted)]
		return h.logins.write(ctx, h.name, h.config, found)
	})
	return errors.Join(mcp.NeedLogin(h.name, fmt.Sprintf("with the scope %q", cutLine(scope))), err)
}

func errRegistration(name string) error {
	return &mcp.LoginError{Status: mcp.NeedsClientRegistration, Message: "it does not register clients by itself: register " +
		"cairn there, and set mcp." + name + ".oauth.clientId in the configuration"}
}

// findParam returns a parameter of the challenges to send a bearer token.
func findParam(all []oauthex.Challenge, name string) string {
	for _, c := range all {
		if c.Scheme == "bearer" && c.Params[name] != "" {
			return c.Params[name]
		}
	}
	return ""
}
