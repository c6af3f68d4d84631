package host

import (
	"context"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/session"
)

// Login implements cli.Host.
func (h Host) Login(ctx context.Context, o cli.Options, id string, say func(url, code string)) error {
	dirs, err := config.Dirs(o.Env)
	if err != nil {
		return session.Errorf(session.CodeInvalid, "%v", err)
	}
	cfg, err := h.Config(ctx, o)
	if err != nil {
		return err
	}
	fetch := tokens{agent: userAgent(o)}
	how := settingsOf(cfg.Provider[id].Options.Extra)
	login := provider.Login{Client: fetch.http(), Say: say, ClientID: how.text("clientId"), Base: how.enterprise("https://")}
	store := auth.New(dirs.Data, o.Env)
	switch id {
	case copilotID:
		token, err := login.GitHub(ctx)
		if err != nil {
			return err
		}
		return store.SetToken(ctx, id, auth.Token{Refresh: auth.NewSecret(token)})
	case "openrouter":
		key, err := login.OpenRouter(ctx)
		if err != nil {
			return err
		}
		return store.Set(ctx, id, auth.NewSecret(key))
	default:
		return session.Errorf(session.CodeInvalid, "%s offers no login with a browser to programs such as this one; openrouter and github-copilot do. Take a key from its site: cairn auth login %[1]s", id)
	}
}
