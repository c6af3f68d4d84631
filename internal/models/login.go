package models

import (
	"context"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// Providers that offer a login with a browser. That at GitHub Copilot gives a token, which is exchanged for short-lived
// ones; that at OpenRouter gives a key.
const (
	copilotID    = "github-copilot"
	openRouterID = "openrouter"
)

// BrowserLogins returns the titles of the logins with a browser, by provider.
func BrowserLogins() map[string]string {
	return map[string]string{copilotID: "Login with GitHub Copilot", openRouterID: "Login with OpenRouter"}
}

// LogIn logs in at a provider with a browser, as the configuration says, and stores the credential. say is called with
// the address to open, and the code to type there if there is one.
func (t *Pool) LogIn(ctx context.Context, cfg *config.Config, id string, say func(url, code string)) error {
	s := parseSettings(cfg.Provider[id].Options.Extra)
	login := provider.Login{
		Client: t.tokens.HTTPClient(), Show: say, ClientID: s.getText("clientId"), Base: s.enterpriseURL("https://"),
	}
	// Each provider has its own flow and kind of credential.
	switch id {
	case copilotID:
		token, err := login.GitHub(ctx)
		if err != nil {
			return err
		}
		return t.Auth.SetToken(ctx, id, auth.Token{Refresh: auth.NewSecret(token)})
	case openRouterID:
		key, err := login.OpenRouter(ctx)
		if err != nil {
			return err
		}
		return t.Auth.Set(ctx, id, auth.NewSecret(key))
	default:
		return session.Errorf(
			session.CodeInvalid,
			"%s does not support browser login (openrouter and github-copilot do); "+
				"create a key on its site and run cairn auth login %[1]s",
			id,
		)
	}
}

// SetToken stores the token of a login that a client made itself.
func (t *Pool) SetToken(ctx context.Context, id string, token auth.Token) error {
	if id != copilotID {
		return session.Errorf(session.CodeInvalid, "cairn cannot use tokens of a login at %q; give an API key", id).
			At("type")
	}
	return t.Auth.SetToken(ctx, id, token)
}
