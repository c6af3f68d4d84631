package cli

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/wellknown"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/session"
)

// Host is the rest of cairn, as far as commands need it. No method does anything before it is called, so that commands
// which need nothing start at once.
type Host interface {
	Models
	Maintenance

	// Open connects to the process that owns the store or, if it has no owner, becomes the owner within this process.
	// It may be called again after the connection was lost.
	Open(ctx context.Context, o client.Options) (*client.Connection, error)
	// Serve becomes the owner and serves until ctx ends, then stops in order. ready is called once, when requests are
	// answered.
	Serve(ctx context.Context, o client.ServeOptions, ready func(client.Listening)) error
	// OwnTransport returns a transport to the server of o's data folder if that listens at the address, a URL on this
	// machine; nil if another server does.
	OwnTransport(ctx context.Context, o client.Options, address string) (http.RoundTripper, error)
	// HoldSession marks an ephemeral session of o's data folder as that of this process until release, which says whether
	// the session is gone. Call it before the session is created: the owner deletes what no process holds.
	HoldSession(ctx context.Context, o client.Options, id session.ID) (release func(isGone bool), err error)
	// Config reads the configuration of o.Dir. What is invalid in its files is in Config.Errors.
	Config(ctx context.Context, o client.Options) (*config.Config, error)
	// Trust returns the record of which projects' files are trusted.
	Trust(o client.Options) (*trust.Store, error)
	// Offers returns access to the configurations that organisations offer.
	Offers(o client.Options) (*wellknown.Remotes, error)
	// PublicTransport returns a transport to addresses of the public Internet, and to the allowed ones.
	PublicTransport(allow []netip.Prefix) http.RoundTripper
}

// Models gives access to the models, and to the providers that offer them.
type Models interface {
	// RefreshModels fetches today's list of models and reports whether it has more than the list before.
	RefreshModels(ctx context.Context, o client.Options) (changed bool, err error)
	// KnownModel returns what is known of a model, usable or not, or a CodeNotFound error.
	KnownModel(ctx context.Context, o client.Options, name string) (*client.KnownModel, error)
	// KnownModels returns the models of all providers that are not disabled, with what keeps each from being used.
	KnownModels(ctx context.Context, o client.Options) ([]client.KnownModel, error)
	// UsableModels returns the models that can be used, as an owner would list them, without a store.
	UsableModels(ctx context.Context, o client.Options) ([]api.Model, error)
	// WhyUnusable returns why no model of a provider can be used; "" if some can, or the provider is unknown.
	WhyUnusable(ctx context.Context, o client.Options, provider string) (string, error)
	// Login logs in at a provider with a browser and stores the key that it gives. say is called with the URL to open
	// and, if there is one, the code to type there.
	Login(ctx context.Context, o client.Options, provider string, say func(url, code string)) error
	// Probe checks whether a provider can be used, and asks it something small; "" is the default model's provider.
	Probe(ctx context.Context, o client.Options, provider string) ([]finding.Finding, error)
}

// Maintenance checks and copies what cairn stores. Backup and Salvage write to the given place only, Repair to the
// store, and RepairMirror to the mirror.
type Maintenance interface {
	// Doctor checks everything that a user may have to repair. An error means that the check itself failed.
	Doctor(ctx context.Context, o client.Options) ([]finding.Finding, error)
	// FindOwner returns the process that owns the store.
	FindOwner(ctx context.Context, o client.Options) (client.StoreOwner, error)
	// MeasureStorage returns what is stored, by kind.
	MeasureStorage(ctx context.Context, o client.Options) ([]client.StorageUse, error)
	// Fsck checks the store against its invariants.
	Fsck(ctx context.Context, o client.Options) ([]finding.Finding, error)
	// RepairMirror compares the mirror of the sessions with the store, and rewrites what differs.
	RepairMirror(ctx context.Context, o client.Options) ([]finding.Finding, error)
	// Repair repairs what earlier versions of cairn left in the store, and returns what it did. No other process may own
	// the store.
	Repair(ctx context.Context, o client.Options) ([]finding.Finding, error)
	// Backup writes a verified copy of the store to the file, which must not exist.
	Backup(ctx context.Context, o client.Options, file string) error
	// FindCopies names the mirrors and backups on this machine that keep a session when it is deleted.
	FindCopies(ctx context.Context, o client.Options, s *session.Session) ([]string, error)
	// Salvage copies what can be read of the store into a new home, which must be empty or missing.
	Salvage(ctx context.Context, o client.Options, home string) (*check.Salvage, error)
}
