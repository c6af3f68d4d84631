package host

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/wellknown"
)

// remotes are the configurations of the organisations that the user logged in to.
type remotes struct {
	auth    *auth.Store
	cache   wellknown.Cache
	offline bool // nobody is asked: what was fetched before holds
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
		out = append(out, config.Remote{Address: l.Address, Source: l.Address + wellknown.Path, File: cache.File(l.Address), Env: l.Env, Token: l.Token})
	}
	return out
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
	all := remotesOf(r.auth, r.cache)
	ctx, cancel := context.WithTimeout(ctx, remoteWait)
	defer cancel()
	for _, remote := range all {
		if r.offline || !r.cache.Due(remote.Address, remoteAge) {
			continue
		}
		if err := r.cache.Refresh(ctx, remote.Address, nil); err != nil {
			r.logger.WarnContext(ctx, "the configuration of an organisation cannot be fetched", "error", err)
		}
	}
	r.next = time.Now().Add(remoteAge)
	return all
}

// Offers implements cli.Host.
func (h Host) Offers(o cli.Options) (cli.Offers, error) {
	dirs, err := config.Dirs(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return offers{wellknown.In(dirs.Cache)}, nil
}

// offers implements cli.Offers.
type offers struct{ cache wellknown.Cache }

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
	return &cli.Offer{Address: address, Env: d.Auth.Env, Command: d.Auth.Command, Elsewhere: d.Remote != nil, Document: raw}, err
}

func (f offers) Keep(o *cli.Offer) error { return f.cache.Keep(o.Address, o.Document) }

func (f offers) Forget(address string) error { return f.cache.Forget(address) }
