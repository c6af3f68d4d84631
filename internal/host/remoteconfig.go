package host

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/wellknown"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/web"
)

// PublicTransport implements cli.Host.
func (h Host) PublicTransport(allow []netip.Prefix) http.RoundTripper { return web.NewTransport(allow) }

// Offers implements cli.Host.
func (h Host) Offers(o client.Options) (*wellknown.Remotes, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return newRemotes(dirs, o, slog.New(slog.DiscardHandler)), nil
}

func newRemotes(dirs config.Directories, o client.Options, logger *slog.Logger) *wellknown.Remotes {
	return wellknown.NewRemotes(wellknown.RemotesConfig{
		Auth: auth.New(dirs.Data, o.Env), Cache: wellknown.NewCache(dirs.Cache), Trust: newTrustJudge(dirs, o),
		Offline: o.Replay != "", Logger: logger, Transport: web.NewTransport,
		Allow: func(ctx context.Context) []netip.Prefix { return allowedNetworks(ctx, dirs, o) },
	})
}

// allowedNetworks returns the networks that the user's own configuration lets webfetch reach; none if it is invalid.
func allowedNetworks(ctx context.Context, dirs config.Directories, o client.Options) []netip.Prefix {
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env})
	if err != nil {
		return nil
	}
	return user.Webfetch.AllowedNetworks()
}
