package host

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/tool/web"
	"github.com/cairn-dev/cairn/internal/trust"
	"github.com/cairn-dev/cairn/internal/wellknown"
)

// remotes are the configurations of the organisations that the user logged in to.
type remotes struct {
	auth    *auth.Store
	cache   wellknown.Cache
	trust   *trust.Judge
	offline bool                                 // nobody is asked: what was fetched before holds
	allow   func(context.Context) []netip.Prefix // what may be reached beside public addresses, where a document leads
	logger  *slog.Logger

	mu   sync.Mutex // guards next; held while organisations are asked
	next time.Time  // when they are asked again
}

const (
	remoteAge  = time.Hour
	remoteWait = 3 * time.Second // for all of them: work begins without those that are slow
)

// remotesOf lists the configurations as they were fetched last. Logins that cannot be read are told by who needs keys.
func remotesOf(store *auth.Store, cache wellknown.Cache) []config.Remote {
	logins, err := store.Logins()
	if err != nil {
		return nil
	}
	var out []config.Remote
	for _, l := range logins {
		r := documentOf(l, cache)
		more, err := cache.Elsewhere(l.Address)
		if err != nil {
			r.Problem = err.Error()
		}
		if more == nil || err != nil {
			out = append(out, r)
			continue
		}
		r.Leads = !more.Near
		further := r
		further.Source, further.File, further.Further, further.Leads = more.Source(), cache.FileOf(more), true, false
		out = append(out, r, further)
	}
	return out
}

// documentOf is the document of a login, as if it named nothing.
func documentOf(l auth.Login, cache wellknown.Cache) config.Remote {
	return config.Remote{Address: l.Address, Source: l.Address + wellknown.Path, File: cache.File(l.Address), Env: l.Env, Token: l.Token}
}

// due reports whether it is time to ask again. It costs nothing.
func (r *remotes) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().After(r.next)
}

// list asks the organisations that were not asked for an hour, and lists what all say. One that does not answer says
// what it said before.
func (r *remotes) list(ctx context.Context) []config.Remote {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.offline {
		r.refresh(ctx)
	}
	r.next = time.Now().Add(remoteAge)
	return remotesOf(r.auth, r.cache)
}

func (r *remotes) refresh(ctx context.Context) {
	logins, err := r.auth.Logins()
	if err != nil {
		return // told by who needs keys
	}
	ctx, cancel := context.WithTimeout(ctx, remoteWait)
	defer cancel()
	for _, l := range logins {
		if r.cache.Due(r.cache.File(l.Address), remoteAge) {
			if err := r.cache.Refresh(ctx, l.Address, nil); err != nil {
				r.logger.WarnContext(ctx, "the configuration of an organisation cannot be fetched", "error", err)
			}
		}
		if err := r.further(ctx, l, remoteAge); err != nil {
			r.logger.WarnContext(ctx, "further configuration of an organisation cannot be fetched", "error", err)
		}
	}
}

// further asks for what the document of a login names, unless it was asked for within the age. At the origin that the
// user logged in to nothing new learns the token. Elsewhere it goes once the document is trusted that says so, and only to
// an address that webfetch would reach.
func (r *remotes) further(ctx context.Context, l auth.Login, age time.Duration) error {
	more, err := r.cache.Elsewhere(l.Address)
	if more == nil || err != nil || !r.cache.Due(r.cache.FileOf(more), age) {
		return nil // a document that names nonsense is told with the configuration
	}
	if more.Near {
		return r.cache.RefreshElsewhere(ctx, more, l.Token, nil)
	}
	d := documentOf(l, r.cache)
	text, err := statefile.Read(d.File, wellknown.MaxDocument)
	if err != nil || !d.MayLead(r.trust, text) {
		return err
	}
	allow := r.allow(ctx)
	if more.Local {
		allow = append(allow, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	return r.cache.RefreshElsewhere(ctx, more, l.Token, web.NewTransport(allow))
}

// Public implements cli.Host.
func (h Host) Public(allow []netip.Prefix) http.RoundTripper { return web.NewTransport(allow) }

// Offers implements cli.Host.
func (h Host) Offers(o cli.Options) (cli.Offers, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return offers{remotesFor(dirs, o, slog.New(slog.DiscardHandler))}, nil
}

func remotesFor(dirs config.Directories, o cli.Options, logger *slog.Logger) *remotes {
	return &remotes{
		auth: auth.New(dirs.Data, o.Env), cache: wellknown.In(dirs.Cache), trust: judge(dirs, o), offline: o.Replay != "", logger: logger,
		allow: func(ctx context.Context) []netip.Prefix { return allowed(ctx, dirs, o) },
	}
}

// allowed is what the user's own configuration lets webfetch reach. One that is broken allows nothing; who reads it for
// its own sake says so.
func allowed(ctx context.Context, dirs config.Directories, o cli.Options) []netip.Prefix {
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env})
	if err != nil {
		return nil
	}
	return user.Webfetch.AllowedNetworks()
}

// offers implements cli.Offers.
type offers struct{ *remotes }

func (f offers) Fetch(ctx context.Context, text string) (*cli.Offer, error) {
	address, err := wellknown.Address(text)
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
	if more, err := d.Elsewhere(address); more != nil && err == nil {
		offer.Elsewhere, offer.Carriers = more.Source(), more.Carriers()
	}
	return offer, nil
}

func (f offers) Keep(o *cli.Offer) error { return f.cache.Keep(o.Address, o.Document) }

func (f offers) Further(ctx context.Context, address string) error {
	logins, err := f.auth.Logins()
	if err != nil {
		return err
	}
	for _, l := range logins {
		if l.Address == address {
			return f.further(ctx, l, 0)
		}
	}
	return session.Errorf(session.CodeNotFound, "there is no login at %s", address)
}

func (f offers) Forget(address string) error { return f.cache.Forget(address) }
