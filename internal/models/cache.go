package models

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/catalog"
)

// newFactsCache returns the cache of facts about models. They are fetched over the network also where a recording
// stands in for it.
func newFactsCache(o Options, userAgent string) catalog.Cache {
	return catalog.Cache{
		Path: filepath.Join(o.Dirs.Cache, "models.json"), URL: config.Getenv(o.Getenv, "MODELS_URL"),
		Transport: provider.WithUserAgent(userAgent, provider.NewLazyTransport()),
	}
}

// buildCatalog builds the catalog from the file that CAIRN_MODELS_PATH names, else from the cached facts, else from
// those that come with cairn. The named file is the user's own, as the configuration is: its addresses are used.
func (t *Pool) buildCatalog(o catalog.Overlay) (*catalog.Catalog, error) {
	if path := config.Getenv(t.getenv, "MODELS_PATH"); path != "" {
		raw, err := catalog.ReadFacts(path)
		if err == nil {
			o.Facts, err = catalog.Parse(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("CAIRN_MODELS_PATH: %w", err)
		}
		return catalog.New(o)
	}
	if o.Facts = t.fetchedFacts(); o.Facts != nil {
		if c, err := catalog.New(o); err == nil {
			return c, nil
		}
		o.Facts = nil // invalid facts in the cache are no reason to fail
	}
	return catalog.New(o)
}

// fetchedFacts returns the cached facts, or nil if they are missing or invalid. It parses a file once.
func (t *Pool) fetchedFacts() *catalog.Facts {
	at := t.Facts.FetchedAt()
	t.mu.Lock()
	parsed, current := t.parsedFacts, at.Equal(t.factsAt)
	t.mu.Unlock()
	if current {
		return parsed
	}
	parsed = nil
	if raw := t.Facts.Facts(); raw != nil {
		if facts, err := catalog.ParseFetched(raw); err == nil {
			parsed = facts
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parsedFacts, t.factsAt = parsed, at
	return parsed
}

// FactsFile returns the file that CAIRN_MODELS_PATH names in place of fetched facts; "" for none.
func (t *Pool) FactsFile() string { return config.Getenv(t.getenv, "MODELS_PATH") }

// FetchDisabledReason says why facts about models must not be fetched; "" if they may.
func (t *Pool) FetchDisabledReason() string {
	switch {
	case config.IsSwitchOn(t.getenv, "DISABLE_MODELS_FETCH"):
		return config.VariableName(t.getenv, "DISABLE_MODELS_FETCH") + " is set"
	case t.FactsFile() != "":
		return config.VariableName(t.getenv, "MODELS_PATH") + " names a file to use instead"
	default:
		return ""
	}
}

// fetchDelay keeps fetches away from the first work of a server.
const fetchDelay = time.Minute

// A command fetches the facts in the background once they are older than staleAge, after commandDelay.
const (
	staleAge     = 24 * time.Hour
	commandDelay = 5 * time.Second
)

// RefreshStale fetches the facts about models once if they are older than a day, unless ctx ends before. Short commands
// end before it begins. A failure changes nothing.
func (t *Pool) RefreshStale(ctx context.Context) error {
	if t.FetchDisabledReason() != "" || time.Since(t.Facts.FetchedAt()) < staleAge {
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(commandDelay):
	}
	if _, err := t.Facts.Refresh(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// FactsAge returns how old the facts in use are; 0 for those of a file that the user names.
func (t *Pool) FactsAge() time.Duration {
	if t.FactsFile() != "" {
		return 0
	}
	return max(time.Since(t.Facts.Date()), 0)
}

// RunRefresh fetches the facts about models whenever they are older than an hour, until ctx ends. A failed fetch is
// passed to report and tried again an hour later; the cached facts stay in use.
func (t *Pool) RunRefresh(ctx context.Context, report func(error)) {
	if t.FetchDisabledReason() != "" {
		return
	}
	for {
		wait := time.Until(t.Facts.FetchedAt().Add(catalog.MaxAge))
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(wait, fetchDelay)):
		}
		if _, err := t.Facts.Refresh(ctx); err != nil && !errors.Is(err, context.Canceled) {
			report(err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(catalog.MaxAge):
			}
		}
	}
}
