package host

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/wellknown"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/tool/web"
)

// remoteConfigs fetches and caches the configurations of the organisations that the user logged in to. The document at
// the address of a login may link to a further one.
type remoteConfigs struct {
	auth    *auth.Store
	cache   wellknown.Cache
	trust   *trust.Judge
	offline bool                                 // use the cache only
	allow   func(context.Context) []netip.Prefix // addresses beside public ones that a link may lead to
	logger  *slog.Logger

	mu   sync.Mutex // guards next; held during a refresh
	next time.Time  // when the next refresh is due
}

const (
	remoteMaxAge  = time.Hour
	remoteTimeout = 3 * time.Second // for all organisations together, since turns wait for it
)

// cachedRemotes returns the configurations as they were fetched last. It returns nil if the logins cannot be read;
// whatever needs a key reports that.
func cachedRemotes(store *auth.Store, cache wellknown.Cache) []config.Remote {
	logins, err := store.ListLogins()
	if err != nil {
		return nil
	}
	var out []config.Remote
	for _, l := range logins {
		r := loginRemote(l, cache)
		link, err := cache.RemoteConfig(l.Address)
		if err != nil {
			r.Problem = err.Error()
		}
		if link == nil || err != nil {
			out = append(out, r)
			continue
		}
		r.Leads = !link.SameOrigin
		further := r
		further.Source, further.File, further.Further, further.Leads = link.Source(), cache.RemoteConfigFile(
			link,
		), true, false
		out = append(out, r, further)
	}
	return out
}

// loginRemote returns the document of a login, without a link.
func loginRemote(l auth.Login, cache wellknown.Cache) config.Remote {
	return config.Remote{
		Address: l.Address, Source: l.Address + wellknown.Path, File: cache.File(l.Address), Env: l.Env, Token: l.Token,
	}
}

// isDue reports whether the next refresh is due.
func (r *remoteConfigs) isDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().After(r.next)
}

// refreshAndList fetches the documents that are older than an hour and returns all. A document that cannot be fetched
// stays as it was.
func (r *remoteConfigs) refreshAndList(ctx context.Context) []config.Remote {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.offline {
		r.refresh(ctx)
	}
	r.next = time.Now().Add(remoteMaxAge)
	return cachedRemotes(r.auth, r.cache)
}

func (r *remoteConfigs) refresh(ctx context.Context) {
	logins, err := r.auth.ListLogins()
	if err != nil {
		return // whatever needs a key reports it
	}
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	for _, l := range logins {
		if r.cache.IsDue(r.cache.File(l.Address), remoteMaxAge) {
			if err := r.cache.Refresh(ctx, l.Address, nil); err != nil {
				r.logger.WarnContext(ctx, "an organisation's configuration cannot be fetched", "error", err)
			}
		}
		if err := r.refreshLinked(ctx, l, remoteMaxAge); err != nil {
			r.logger.WarnContext(ctx, "an organisation's linked configuration cannot be fetched", "error", err)
		}
	}
}

// refreshLinked fetches the document that the document of a login links to, unless it was fetched within age. Another
// origin gets the token only if the linking document is trusted, and only at an address that webfetch may reach.
func (r *remoteConfigs) refreshLinked(ctx context.Context, l auth.Login, age time.Duration) error {
	link, err := r.cache.RemoteConfig(l.Address)
	if link == nil || err != nil || !r.cache.IsDue(r.cache.RemoteConfigFile(link), age) {
		return nil // config.Load reports an invalid link
	}
	if link.SameOrigin {
		return r.cache.RefreshRemoteConfig(ctx, link, l.Token, nil)
	}
	d := loginRemote(l, r.cache)
	text, err := statefile.Read(d.File, wellknown.MaxDocument)
	if err != nil || !d.MayLead(r.trust, text) {
		return err
	}
	allow := r.allow(ctx)
	if link.Local {
		allow = append(allow, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	return r.cache.RefreshRemoteConfig(ctx, link, l.Token, web.NewTransport(allow))
}

// PublicTransport implements cli.Host.
func (h Host) PublicTransport(allow []netip.Prefix) http.RoundTripper { return web.NewTransport(allow) }

// Offers implements cli.Host.
func (h Host) Offers(o cli.Options) (cli.Offers, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return offers{newRemoteConfigs(dirs, o, slog.New(slog.DiscardHandler))}, nil
}

func newRemoteConfigs(dirs config.Directories, o cli.Options, logger *slog.Logger) *remoteConfigs {
	return &remoteConfigs{
		auth: auth.New(dirs.Data, o.Env), cache: wellknown.NewCache(dirs.Cache), trust: newTrustJudge(dirs, o),
		offline: o.Replay != "", logger: logger,
		allow: func(ctx context.Context) []netip.Prefix { return allowedNetworks(ctx, dirs, o) },
	}
}

// allowedNetworks returns the networks that the user's own configuration lets webfetch reach; none if it is invalid.
func allowedNetworks(ctx context.Context, dirs config.Directories, o cli.Options) []netip.Prefix {
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env})
	if err != nil {
		return nil
	}
	return user.Webfetch.AllowedNetworks()
}

// offers implements cli.Offers for the commands auth login and auth logout.
type offers struct{ *remoteConfigs }

func (f offers) Fetch(ctx context.Context, text string) (*cli.Offer, error) {
	address, err := wellknown.NormalizeAddress(text)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	raw, err := wellknown.Fetch(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	d, err := wellknown.Parse(raw)
	if err != nil {
		return nil, err
	}
	offer := &cli.Offer{Address: address, Env: d.Auth.Env, Command: d.Auth.Command, Document: raw}
	if link, err := d.RemoteConfig(address); link != nil && err == nil {
		offer.Elsewhere, offer.Carriers = link.Source(), link.TokenHeaders()
	}
	return offer, nil
}

func (f offers) Keep(o *cli.Offer) error { return f.cache.Put(o.Address, o.Document) }

func (f offers) Further(ctx context.Context, address string) error {
	logins, err := f.auth.ListLogins()
	if err != nil {
		return err
	}
	for _, l := range logins {
		if l.Address == address {
			return f.refreshLinked(ctx, l, 0)
		}
	}
	return session.Errorf(session.CodeNotFound, "no login is stored for %s", address)
}

func (f offers) Forget(address string) error { return f.cache.Remove(address) }
