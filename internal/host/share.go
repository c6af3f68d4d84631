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
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

// openShares prepares the outbox of the owner's sessions.
func (w *owner) openShares(getenv func(string) string) {
	w.shares = share.New(share.Config{
		Registry: share.NewRegistry(w.dirs.Data), Store: w.store, Log: w.log, Transport: provider.NewLazyTransport(),
		Owner: shareOwner{w, getenv}, Logger: w.logger,
	})
	w.sharePages = &sharepage.Pages{
		API:         &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: api.Local(localHandler{w})}},
		ListSecrets: w.shares.Owner.ListSecrets, Dir: filepath.Join(w.dirs.Cache, "share-pages"),
	}
}

// localHandler is owner.local, which exists once the owner listens.
type localHandler struct{ owner *owner }

// ServeHTTP implements http.Handler.
func (h localHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.owner.local.ServeHTTP(w, r)
}

// startShares keeps the shares up to date until ctx ends. release waits for it.
func (w *owner) startShares(ctx context.Context) {
	if w.lease == nil || w.store.DegradedError() != nil {
		return
	}
	w.sweeps.Go(func() { w.shares.Run(ctx) })
}

// shareOwner implements share.Owner.
type shareOwner struct {
	owner  *owner
	getenv func(string) string
}

// RecordShare implements share.Owner.
func (o shareOwner) RecordShare(ctx context.Context, id session.ID, s *session.Share) error {
	return o.owner.engine.Commands.RecordShare(ctx, id, s)
}

// Audit implements share.Owner.
func (o shareOwner) Audit(ctx context.Context, what string) error {
	return audit.New(o.owner.dirs.Data).AddEntry(ctx, audit.KindShare, what)
}

// ListSecrets implements share.Owner. A secret that cannot be read is an error: it would not be replaced.
func (o shareOwner) ListSecrets(ctx context.Context, s *session.Session) ([]string, error) {
	cfg, err := o.owner.findConfig(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("a configuration that may have secrets cannot be read: %w", err)
	}
	secrets, unreadable, err := transfer.SecretSources{Data: o.owner.dirs.Data, Env: o.getenv, Config: cfg}.Collect(ctx)
	if err == nil && len(unreadable) > 0 {
		err = fmt.Errorf("a stored key cannot be read, and would not be replaced: %w", errors.Join(unreadable...))
	}
	return secrets, err
}

// ListModels implements share.Owner. It leaves out the addresses at which the models are reached.
func (o shareOwner) ListModels(
	ctx context.Context, s *session.Session, refs []session.ModelRef,
) ([]opencode.ModelInfo, error) {
	out := []opencode.ModelInfo{}
	p, err := o.owner.locations.findLoaded(ctx, s.Location.Directory)
	if err != nil { // the directory may have been removed
		return nil, err
	}
	for _, ref := range refs {
		for _, m := range p.models.SupportedModels(ref.ProviderID) {
			if m.ID == ref.ID {
				v := opencode.ModelInfoOf(m)
				v.API.URL = ""
				out = append(out, v)
			}
		}
	}
	return out, nil
}

// MayShare implements share.Owner. A configuration that cannot be read counts as disabled.
func (o shareOwner) MayShare(ctx context.Context, s *session.Session) bool {
	cfg, err := o.owner.findConfig(ctx, s)
	return err == nil && cfg.Share != config.ShareDisabled
}

// MakeRoom implements share.Owner.
func (o shareOwner) MakeRoom(cause error) bool { return o.owner.makeRoomAfter(cause) }

// findConfig returns the configuration that holds where a session is, without waiting for plugins; that of the user if
// the directory is gone.
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

// shareNew shares a new session if the configuration says so. A failure does not affect the session.
func (w *owner) shareNew(s *session.Session) {
	if w.share != config.ShareAuto || s.ParentID != "" || s.Ephemeral {
		return
	}
	ctx := context.Background()
	options, err := w.findShareOptions(ctx, s, 0)
	if err == nil {
		err = w.shares.ShareLater(ctx, s.ID, options)
	}
	if err != nil {
		w.logger.Warn("a new session is not shared", "session", s.ID, "error", err)
	}
}

// findShareOptions returns how a session is shared, or an error if the configuration disables sharing.
func (w *owner) findShareOptions(ctx context.Context, s *session.Session, expires time.Duration) (o share.Options, err error) {
	cfg, err := w.findConfig(ctx, s)
	if err != nil {
		return o, err
	}
	if cfg.Share == config.ShareDisabled {
		return o, session.Errorf(session.CodeInvalid, "sharing is disabled in the configuration (share)")
	}
	for _, warning := range cfg.Warnings {
		if warning.Key == "sharing.expires" { // the share would never expire
			return share.Options{}, session.Errorf(session.CodeConflict, "the session is not shared: %s", warning.String())
		}
	}
	return share.Options{
		Target: cfg.ShareTarget(), PageURL: cfg.PageURL(), Expires: cmp.Or(expires, time.Duration(cfg.Sharing.Expires)),
		Extend: expires > 0,
	}, nil
}

// shareAPI implements v1.Shares and v2.Shares.
type shareAPI struct{ owner *owner }

// Share implements v2.Shares.
func (a shareAPI) Share(ctx context.Context, id session.ID, r api.ShareRequest) (out api.Share, err error) {
	s, err := store.ReadSession(ctx, a.owner.store, id)
	if err != nil {
		return out, err
	}
	options, err := a.owner.findShareOptions(ctx, s, time.Duration(r.Expires)*time.Millisecond)
	if err != nil {
		return out, err
	}
	shared, err := a.owner.shares.Share(ctx, id, options)
	return describeShare(&shared), err
}

// Revoke implements v2.Shares.
func (a shareAPI) Revoke(ctx context.Context, id session.ID) (out api.Revocation, err error) {
	_, err = store.ReadSession(ctx, a.owner.store, id)
	if isShared := a.owner.isShared(id); err != nil && !errors.Is(err, store.ErrDamaged) && !isShared { // a deleted session may still be shared
		return out, err
	}
	result, err := a.owner.shares.Revoke(ctx, id)
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

// maxPreview bounds what a preview returns of a session, in bytes.
const maxPreview = 256 << 20

// Preview implements v2.Shares: it lists what a page would show, or the items of an upload. It fails if the session may not
// be shared.
func (a shareAPI) Preview(ctx context.Context, id session.ID) (out api.SharePreview, err error) {
	s, err := store.ReadSession(ctx, a.owner.store, id)
	if err != nil {
		return out, err
	}
	options, err := a.owner.findShareOptions(ctx, s, 0)
	if err != nil {
		return out, err
	}
	e := &transfer.Export{API: a.owner.sharePages.API}
	if e.Known, err = a.owner.shares.Owner.ListSecrets(ctx, s); err != nil {
		return out, err
	}
	left := maxPreview
	add := func(item jsontext.Value) error {
		if left -= len(item); left < 0 {
			return errLargePreview
		}
		out.Items = append(out.Items, item)
		return nil
	}
	if options.Target == "" {
		err = e.ListItems(ctx, s, add)
	} else {
		err = a.owner.shares.Preview(ctx, id, e.NewFilter(), func(items []share.Item) error {
			for _, item := range items {
				if err := add(item.Data); err != nil {
					return err
				}
			}
			return nil
		})
	}
	out.Replacements = e.ListReplacements()
	return out, err
}

var errLargePreview = session.Errorf(session.CodeConflict, "the session has more than %d MiB, so what would be shared cannot be "+
	"compared with the secrets of your environment; it is not shared", maxPreview>>20)

// Page implements v2.Shares.
func (a shareAPI) Page(ctx context.Context, id string) (func(context.Context, io.Writer, func() error) error, error) {
	found, err := a.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	return a.owner.sharePages.Open(ctx, found)
}

// List implements v2.Shares.
func (a shareAPI) List() ([]api.Share, error) {
	all, err := a.owner.shares.Registry.List()
	out := make([]api.Share, len(all))
	for i := range all {
		out[i] = describeShare(&all[i])
	}
	return out, err
}

// Find implements v2.Shares. A session that is uploaded has no page.
func (a shareAPI) Find(ctx context.Context, id string) (api.Share, error) {
	s, found, err := a.owner.shares.Registry.Find(id)
	if err != nil {
		return api.Share{}, err
	}
	if found && s.Target == "" && s.IsActive(time.Now()) {
		current, err := store.ReadSession(ctx, a.owner.store, s.SessionID)
		if err == nil && a.owner.shares.Owner.MayShare(ctx, current) {
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
	case s.RevokedAt > 0, s.Expires > 0 && !s.IsActive(time.Now()):
		out.State = api.ShareRevoking
	case s.URL == "":
		out.State = api.SharePending
	}
	return out
}
