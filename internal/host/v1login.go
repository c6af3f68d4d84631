package host

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/session"
)

// Logins implements v1.Credentials.
func (l v1Backend) Logins() map[string]string { return models.BrowserLogins() }

// LogIn implements v1.Credentials. The text of a vendor's error goes to the client; it holds no secret.
func (l v1Backend) LogIn(ctx context.Context, at session.Location, id string, say func(url, code string)) error {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return err
	}
	err = l.models.LogIn(ctx, p.config, id, say)
	if _, ok := errors.AsType[*session.Error](err); err == nil || ok {
		return err
	}
	return session.Errorf(session.CodeInvalid, "%v", err)
}

// PluginLogins implements v1.Credentials.
func (l v1Backend) PluginLogins(ctx context.Context, at session.Location) (map[string]plugin.Auth, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	return p.plugins.Logins(), nil
}

// LogInWith implements v1.Credentials.
func (l v1Backend) LogInWith(
	ctx context.Context, at session.Location, id string, method int, d plugin.LoginDialog,
) error {
	return l.logInWith(ctx, at, id, method, d)
}

// SetToken implements v1.Credentials. Plugins renew the tokens of the providers at which they log in.
func (l v1Backend) SetToken(ctx context.Context, id string, t auth.Token) error {
	if l.plugins.logsInAt(id) {
		return credentialError(l.models.Auth.SetToken(ctx, id, t))
	}
	return credentialError(l.models.SetToken(ctx, id, t))
}
