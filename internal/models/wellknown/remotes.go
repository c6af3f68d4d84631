package wellknown

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// RemotesConfig is the configuration of Remotes.
type RemotesConfig struct {
	Auth    *auth.Store
	Cache   Cache
	Trust   *trust.Judge
	Offline bool                                 // use the cache only
	Allow   func(context.Context) []netip.Prefix // addresses beside public ones that a link may lead to
	// Transport returns the transport to a linked address: to the public Internet and to the allowed networks.
	Transport func(allow []netip.Prefix) http.RoundTripper
	Logger    *slog.Logger
}

// Remotes fetches and caches the configurations of the organisations that the user logged in to. The document at
// the address of a login may link to a further one.
type Remotes struct {
	RemotesConfig

	mu   sync.Mutex // guards next; held during a refresh
	next time.Time  // when the next refresh is due
}

const (
	remoteMaxAge  = time.Hour
	remoteTimeout = 3 * time.Second // for all organisations together, since turns wait for it
)

// NewRemotes returns the remote configurations of a user.
func NewRemotes(c RemotesConfig) *Remotes { return &Remotes{RemotesConfig: c} }

// ListCached returns the configurations as they were fetched last. It returns nil if the logins cannot be read;
// whatever needs a key reports that.
func ListCached(store *auth.Store, cache Cache) []config.Remote {
	logins, err := store.ListLogins()
	if err != nil {
		return nil
	}
	var out []config.Remote
	// Each login has one document, and a further one if the document names it.
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
		// The further one is a copy with its own source and file. It follows the first.
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
func loginRemote(l auth.Login, cache Cache) config.Remote {
	return config.Remote{
		Address: l.Address, Source: l.Address + Path, File: cache.File(l.Address), Env: l.Env, Token: l.Token,
	}
}

// IsDue reports whether the next refresh is due.
func (r *Remotes) IsDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().After(r.next)
}

// RefreshAndList fetches the documents that are older than an hour and returns all. A document that cannot be fetched
// stays as it was.
func (r *Remotes) RefreshAndList(ctx context.Context) []config.Remote {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.Offline {
		r.refresh(ctx)
	}
	r.next = time.Now().Add(remoteMaxAge)
	return ListCached(r.Auth, r.Cache)
}

func (r *Remotes) refresh(ctx context.Context) {
	logins, err := r.Auth.ListLogins()
	if err != nil {
		return // whatever needs a key reports it
	}
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	for _, l := range logins {
		if r.Cache.IsDue(r.Cache.File(l.Address), remoteMaxAge) {
			if err := r.Cache.Refresh(ctx, l.Address, nil); err != nil {
				r.Logger.WarnContext(ctx, "an organisation's configuration cannot be fetched", "error", err)
			}
		}
		if err := r.refreshLinked(ctx, l, remoteMaxAge); err != nil {
			r.Logger.WarnContext(ctx, "an organisation's linked configuration cannot be fetched", "error", err)
		}
	}
}

// refreshLinked fetches the document that the document of a login links to, unless it was fetched within age. Another
// origin gets the token only if the linking document is trusted, and only at an address that webfetch may reach.
func (r *Remotes) refreshLinked(ctx context.Context, l auth.Login, age time.Duration) error {
	link, err := r.Cache.RemoteConfig(l.Address)
	if link == nil || err != nil || !r.Cache.IsDue(r.Cache.RemoteConfigFile(link), age) {
		return nil // config.Load reports an invalid link
	}
	if link.SameOrigin {
		return r.Cache.RefreshRemoteConfig(ctx, link, l.Token, nil)
	}
	d := loginRemote(l, r.Cache)
	text, err := statefile.Read(d.File, MaxDocument)
	if err != nil || !d.MayLead(r.Trust, text) {
		return err
	}
	allow := r.Allow(ctx)
	if link.Local {
		allow = append(allow, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	return r.Cache.RefreshRemoteConfig(ctx, link, l.Token, r.Transport(allow))
}
