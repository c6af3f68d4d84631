package host

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/session"
)

func newModelTable(dirs config.Directories, o cli.Options, transport http.RoundTripper) *modelTable {
	return &modelTable{
		auth: auth.New(dirs.Data, o.Env), getenv: o.Env, transport: named(o, transport), tokens: tokens{agent: userAgent(o)},
		facts: factsCache(dirs, o),
	}
}

// factsCache is where fetched facts about models are kept.
func factsCache(dirs config.Directories, o cli.Options) catalog.Cache {
	return catalog.Cache{Path: filepath.Join(dirs.Cache, "models.json"), URL: config.Getenv(o.Env, "MODELS_URL"), Transport: named(o, provider.LateTransport())}
}

// userAgent is by what name this cairn goes to servers.
func userAgent(o cli.Options) string { return "cairn/" + cmp.Or(o.Version, "devel") }

func named(o cli.Options, transport http.RoundTripper) http.RoundTripper {
	return provider.Named(userAgent(o), transport)
}

// build makes the catalog of the user's own file of facts if there is one, else of the newest facts that can be read.
func (t *modelTable) build(o catalog.Overlay) (*catalog.Catalog, error) {
	if path := config.Getenv(t.getenv, "MODELS_PATH"); path != "" {
		raw, err := catalog.ReadFacts(path)
		if err != nil {
			return nil, err
		}
		if o.Facts, err = catalog.Parse(raw); err != nil {
			return nil, err
		}
		return catalog.New(o)
	}
	if o.Facts = t.fetched(); o.Facts != nil {
		if c, err := catalog.New(o); err == nil {
			return c, nil
		}
		o.Facts = nil // what was fetched is no reason to stop
	}
	return catalog.New(o)
}

// fetched are the facts that were fetched last, read again when there are newer ones; nil for none that can be used.
func (t *modelTable) fetched() *catalog.Facts {
	at := t.facts.At()
	t.mu.Lock()
	parsed, known := t.parsed, at.Equal(t.factsAt)
	t.mu.Unlock()
	if known {
		return parsed
	}
	parsed = nil
	if raw := t.facts.Facts(); raw != nil {
		if facts, err := catalog.Parse(raw); err == nil {
			parsed = facts
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parsed, t.factsAt = parsed, at
	return parsed
}

// RefreshModels implements cli.Host.
func (h Host) RefreshModels(ctx context.Context, o cli.Options) (bool, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return false, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if why := offline(o.Env); why != "" {
		return false, session.Errorf(session.CodeInvalid, "nothing is fetched: %s", why)
	}
	changed, err := factsCache(dirs, o).Refresh(ctx)
	if err != nil {
		return false, session.Errorf(session.CodeUnavailable, "%v; what is known already stays in use", err)
	}
	return changed, nil
}

// offline says why facts about models are not to be fetched; "" if they may.
func offline(getenv func(string) string) string {
	switch {
	case config.IsSwitchOn(getenv, "DISABLE_MODELS_FETCH"):
		return "CAIRN_DISABLE_MODELS_FETCH is set"
	case config.Getenv(getenv, "MODELS_PATH") != "":
		return "CAIRN_MODELS_PATH names a file to use instead"
	default:
		return ""
	}
}

// settling is how long a server is left to its first work before it fetches anything.
const settling = time.Minute

// keepFresh fetches the facts about models whenever they are older than an hour, until ctx ends. That it cannot is
// nobody's trouble: what is known stays in use.
func (t *modelTable) keepFresh(ctx context.Context, note func(error)) {
	if offline(t.getenv) != "" {
		return
	}
	for {
		wait := time.Until(t.facts.At().Add(catalog.Stale))
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(wait, settling)):
		}
		if _, err := t.facts.Refresh(ctx); err != nil && !errors.Is(err, context.Canceled) {
			note(err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(catalog.Stale):
			}
		}
	}
}
