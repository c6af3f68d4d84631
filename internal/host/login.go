package host

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/session"
)

const openRouterID = "openrouter"

// browserLogins are the vendors that offer a login with a browser to programs such as this one.
func browserLogins() map[string]string {
	return map[string]string{copilotID: "Login with GitHub Copilot", openRouterID: "Login with OpenRouter"}
}

// Login implements cli.Host.
func (h Host) Login(ctx context.Context, o cli.Options, id string, say func(url, code string)) error {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return session.Errorf(session.CodeInvalid, "%v", err)
	}
	cfg, err := h.Config(ctx, o)
	if err != nil {
		return err
	}
	fetch := tokens{agent: userAgent(o)}
	return logIn(ctx, auth.New(dirs.Data, o.Env), cfg, id, provider.Login{Client: fetch.http(), Say: say})
}

// logIn logs in at a vendor as the configuration says, and keeps what that gives.
func logIn(ctx context.Context, store *auth.Store, cfg *config.Config, id string, login provider.Login) error {
	how := settingsOf(cfg.Provider[id].Options.Extra)
	login.ClientID, login.Base = how.text("clientId"), how.enterprise("https://")
	switch id {
	case copilotID:
		token, err := login.GitHub(ctx)
		if err != nil {
			return err
		}
		return store.SetToken(ctx, id, auth.Token{Refresh: auth.NewSecret(token)})
	case openRouterID:
		key, err := login.OpenRouter(ctx)
		if err != nil {
			return err
		}
		return store.Set(ctx, id, auth.NewSecret(key))
	default:
		return session.Errorf(session.CodeInvalid, "%s offers no login with a browser to programs such as this one; openrouter and github-copilot do. Take a key from its site: cairn auth login %[1]s", id)
	}
}

// Logins implements v1.Settings.
func (l v1Backend) Logins() map[string]string { return browserLogins() }

// LogIn implements v1.Settings. What a vendor says of a failure is for whoever logs in; it holds no secret.
func (l v1Backend) LogIn(ctx context.Context, at session.Location, id string, say func(url, code string)) error {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return err
	}
	err = logIn(ctx, l.models.auth, p.config, id, provider.Login{Client: l.models.tokens.fetcher(), Say: say})
	if _, told := errors.AsType[*session.Error](err); err == nil || told {
		return err
	}
	return session.Errorf(session.CodeInvalid, "%v", err)
}

// SetToken implements v1.Settings.
func (l v1Backend) SetToken(ctx context.Context, id string, t auth.Token) error {
	if id != copilotID {
		return session.Errorf(session.CodeInvalid, "logins at %q give no tokens that cairn can use; give an api key", id).At("type")
	}
	return credentialError(l.models.auth.SetToken(ctx, id, t))
}
