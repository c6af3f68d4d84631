package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/transfer/share"
	"github.com/cairn-dev/cairn/internal/transfer/sharepage"
)

// ownerShares publishes the sessions of an owner.
type ownerShares struct{ *owner }

// openShares prepares the shares of the owner's sessions.
func (w *owner) openShares(getenv func(string) string) {
	o := share.NewOutbox(share.NewRegistry(filepath.Join(w.dirs.Data, share.FileName)))
	o.Store, o.Log, o.Transport, o.Logger = w.store, w.log, provider.NewLazyTransport(), w.logger
	o.Record = func(ctx context.Context, id session.ID, s *session.Share) error {
		return w.engine.Commands.RecordShare(ctx, id, s)
	}
	o.Audit = func(ctx context.Context, what string) error {
		return audit.New(w.dirs.Data).AddEntry(ctx, audit.KindShare, what)
	}
	o.ListSecrets = func(ctx context.Context, s *session.Session) ([]string, error) {
		return w.listSecretsOf(ctx, s, getenv)
	}
	o.ListModels, o.MayShare = w.listSharedModels, w.mayShare
	w.shares = o
}

// listSecretsOf returns the secrets that are known where a session is. What cannot be read is an error: it would not be
// replaced.
func (w *owner) listSecretsOf(ctx context.Context, s *session.Session, getenv func(string) string) ([]string, error) {
	cfg, err := w.findConfig(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("a configuration that may have secrets cannot be read: %w", err)
	}
	secrets, unreadable, err := transfer.SecretSources{Data: w.dirs.Data, Env: getenv, Config: cfg}.Collect(ctx)
	if err == nil && len(unreadable) > 0 {
		err = fmt.Errorf("a stored key cannot be read, and would not be replaced: %w", errors.Join(unreadable...))
	}
	return secrets, err
}

// findConfig returns the configuration that holds where a session is, without waiting for plugins; that of the user if the
// directory is gone.
func (w *owner) findConfig(ctx context.Context, s *session.Session) (*config.Config, error) {
	if _, err := os.Stat(s.Location.Directory); errors.Is(err, fs.ErrNotExist) {
		return config.Load(ctx, config.Options{Dirs: w.dirs, Env: w.locations.getenv})
	}
	p, err := w.locations.findLoaded(ctx, s.Location.Directory)
	if err != nil {
		return nil, err
	}
	return p.config, nil
}

// mayShare reports whether nothing disables sharing where the session is. One that cannot be read counts as
// disabled.
func (w *owner) mayShare(ctx context.Context, s *session.Session) bool {
	cfg, err := w.findConfig(ctx, s)
	return err == nil && cfg.Share != config.ShareDisabled
}

// listSharedModels describes models without the addresses at which they are reached.
func (w *owner) listSharedModels(
	ctx context.Context, s *session.Session, refs map[session.ModelRef]bool,
) []opencode.ModelInfo {
	out := []opencode.ModelInfo{}
	p, err := w.locations.findLoaded(ctx, s.Location.Directory)
	if err != nil { // the directory may be gone
		return out
	}
	for ref := range refs {
		for _, m := range p.models.SupportedModels(ref.ProviderID) {
			if m.ID == ref.ID {
				v := opencode.ModelInfoOf(m)
				v.API.URL = ""
				out = append(out, v)
			}
		}
	}
	return out
}

// startShares keeps the shares up to date until ctx ends. release waits for it.
func (w *owner) startShares(ctx context.Context) {
	if w.lease == nil || w.store.DegradedError() != nil {
		return
	}
	w.sweeps.Go(func() { w.shares.Run(ctx) })
}

// shareNew publishes a new session if the configuration says so. A session that cannot be published is one all the same.
func (w *owner) shareNew(s *session.Session) {
	if w.share != config.ShareAuto || s.ParentID != "" || s.Ephemeral {
		return
	}
	ctx := context.Background()
	order, err := ownerShares{w}.findOrder(ctx, s, 0)
	if err == nil {
		err = w.shares.ShareLater(ctx, s.ID, order)
	}
	if err != nil {
		w.logger.Warn("a new session is not shared", "session", s.ID, "error", err)
	}
}

// findOrder returns how a session is published, an error if its location or the user forbids it.
func (w ownerShares) findOrder(ctx context.Context, s *session.Session, expires time.Duration) (o share.Options, err error) {
	cfg, err := w.findConfig(ctx, s)
	if err != nil {
		return o, err
	}
	if cfg.Share == config.ShareDisabled {
		return o, session.Errorf(session.CodeInvalid, "sharing is disabled in the configuration (share)")
	}
	return share.Options{
		Target: cfg.ShareTarget(), PageURL: cfg.PageURL(), Expires: cmp.Or(expires, time.Duration(cfg.Sharing.Expires)),
		Extend: expires > 0,
	}, nil
}

// Share implements v2.Shares.
func (w ownerShares) Share(ctx context.Context, id session.ID, r api.ShareRequest) (out api.Share, err error) {
	s, err := store.ReadSession(ctx, w.store, id)
	if err != nil {
		return out, err
	}
	order, err := w.findOrder(ctx, s, time.Duration(r.Expires)*time.Millisecond)
	if err != nil {
		return out, err
	}
	there, err := w.shares.Share(ctx, id, order)
	return describeShare(&there), err
}

// Revoke implements v2.Shares.
func (w ownerShares) Revoke(ctx context.Context, id session.ID) (out api.Revocation, err error) {
	_, err = store.ReadSession(ctx, w.store, id)
	if isShared := w.isShared(id); err != nil && !errors.Is(err, store.ErrDamaged) && !isShared { // a deleted one may still be
		return out, err
	}
	result, err := w.shares.Revoke(ctx, id)
	if err != nil || result.RevokedAt == 0 {
		return api.Revocation{Revoked: err == nil}, err
	}
	return api.Revocation{Failure: result.Failure}, nil
}

// isShared reports whether there is a share of the session, which may be deleted.
func (w *owner) isShared(id session.ID) bool {
	all, err := w.shares.Registry.List()
	return err == nil && slices.ContainsFunc(all, func(s share.Share) bool { return s.SessionID == id })
}

// localAPI returns a client of this owner.
func (w *owner) localAPI() *api.Client {
	return &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: api.Local(w.local)}}
}

// Preview implements v2.Shares.
func (w ownerShares) Preview(ctx context.Context, id session.ID) (out api.SharePreview, err error) {
	s, err := store.ReadSession(ctx, w.store, id)
	if err != nil {
		return out, err
	}
	e := &transfer.Export{API: w.localAPI()}
	var page strings.Builder
	if e.Known, err = w.shares.ListSecrets(ctx, s); err == nil {
		_, err = e.WriteHTML(ctx, &page, s)
	}
	return api.SharePreview{Replacements: e.ListReplacements(), Page: page.String()}, err
}

// Page implements v2.Shares.
func (w ownerShares) Page(ctx context.Context, id string) (func(context.Context, io.Writer, func() error) error, error) {
	share, err := w.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	v := &sharepage.Viewer{API: w.localAPI(), ListSecrets: w.shares.ListSecrets}
	return v.Write, v.Open(ctx, share)
}

// List implements v2.Shares.
func (w ownerShares) List() ([]api.Share, error) {
	all, err := w.shares.Registry.List()
	out := make([]api.Share, len(all))
	for i := range all {
		out[i] = describeShare(&all[i])
	}
	return out, err
}

// Find implements v2.Shares.
func (w ownerShares) Find(ctx context.Context, id string) (api.Share, error) {
	s, found, err := w.shares.Registry.Find(id)
	if err != nil {
		return api.Share{}, err
	}
	if found && s.IsActive(time.Now()) {
		there, err := store.ReadSession(ctx, w.store, s.SessionID)
		if err == nil && w.mayShare(ctx, there) {
			return describeShare(&s), nil
		}
	}
	return api.Share{}, session.NotFound("share", id)
}

// describeShare returns a share without its secret.
func describeShare(s *share.Share) api.Share {
	out := api.Share{
		ID: s.ID, SessionID: s.SessionID, URL: s.URL, Target: s.Target, State: api.ShareActive, Created: s.Created,
		Expires: s.Expires, Auto: s.Auto, Failure: s.Failure,
	}
	switch {
	case s.IsAbandoned(time.Now()):
		out.State = api.ShareAbandoned
	case s.RevokedAt > 0:
		out.State = api.ShareRevoking
	case s.URL == "":
		out.State = api.SharePending
	}
	return out
}
