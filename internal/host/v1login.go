package host

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/access/auth"
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

// SetToken implements v1.Credentials.
func (l v1Backend) SetToken(ctx context.Context, id string, t auth.Token) error {
	return credentialError(l.models.SetToken(ctx, id, t))
}
