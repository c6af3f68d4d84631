package cli

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// Host is the rest of cairn, as far as commands need it. No method does anything before it is called, so that commands
// which need nothing start at once.
type Host interface {
	// Open connects to the process that owns the store or, if it has no owner, becomes the owner within this process.
	// It may be called again after the connection was lost.
	Open(ctx context.Context, o Options) (*Connection, error)
	// Serve becomes the owner and serves until ctx ends, then stops in order. ready is called once, when requests are
	// answered.
	Serve(ctx context.Context, o ServeOptions, ready func(Listening)) error
	// OwnTransport returns a transport to the server of o's data folder if that listens at the address, a URL on this
	// machine; nil if another server does.
	OwnTransport(ctx context.Context, o Options, address string) (http.RoundTripper, error)
	// Config reads the configuration of o.Dir. What is invalid in its files is in Config.Errors.
	Config(ctx context.Context, o Options) (*config.Config, error)
	// Trust returns the record of which projects' files are trusted.
	Trust(o Options) (*trust.Store, error)
	// Offers returns access to the configurations that organisations offer.
	Offers(o Options) (Offers, error)
	// Models returns what is known of models and providers.
	Models() Models
	// Maintenance returns the checks and copies of what is stored.
	Maintenance() Maintenance
	// PublicTransport returns a transport to addresses of the public Internet, and to the allowed ones.
	PublicTransport(allow []netip.Prefix) http.RoundTripper
}

// Models gives access to the models, and to the providers that offer them.
type Models interface {
	// RefreshModels fetches today's list of models and reports whether it has more than the list before.
	RefreshModels(ctx context.Context, o Options) (changed bool, err error)
	// KnownModel returns what is known of a model, usable or not, or a CodeNotFound error.
	KnownModel(ctx context.Context, o Options, name string) (*KnownModel, error)
	// KnownModels returns the models of all providers that are not disabled, with what keeps each from being used.
	KnownModels(ctx context.Context, o Options) ([]KnownModel, error)
	// UsableModels returns the models that can be used, as an owner would list them, without a store.
	UsableModels(ctx context.Context, o Options) ([]api.Model, error)
	// WhyUnusable returns why no model of a provider can be used; "" if some can, or the provider is unknown.
	WhyUnusable(ctx context.Context, o Options, provider string) (string, error)
	// Login logs in at a provider with a browser and stores the key that it gives. say is called with the URL to open
	// and, if there is one, the code to type there.
	Login(ctx context.Context, o Options, provider string, say func(url, code string)) error
	// Probe checks whether a provider can be used, and asks it something small; "" is the default model's provider.
	Probe(ctx context.Context, o Options, provider string) ([]Finding, error)
}

// Maintenance checks and copies what cairn stores. Backup and Salvage write to the given place only, and Repair to the
// store.
type Maintenance interface {
	// Doctor checks everything that a user may have to repair. An error means that the check itself failed.
	Doctor(ctx context.Context, o Options) ([]Finding, error)
	// MeasureStorage returns what is stored, by kind.
	MeasureStorage(ctx context.Context, o Options) ([]StorageUse, error)
	// Fsck checks the store against its invariants.
	Fsck(ctx context.Context, o Options) ([]Finding, error)
	// Repair repairs what earlier versions of cairn left in the store, and returns what it did. No other process may own
	// the store.
	Repair(ctx context.Context, o Options) ([]Finding, error)
	// Backup writes a verified copy of the store to the file, which must not exist.
	Backup(ctx context.Context, o Options, file string) error
	// Salvage copies what can be read of the store into a new home, which must be empty or missing.
	Salvage(ctx context.Context, o Options, home string) (*Salvage, error)
}

// StorageUse is the size of one kind of stored files.
type StorageUse struct {
	What  string `json:"what"`
	Path  string `json:"path"` // the directory, or the beginning of the files' names
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	Limit int64  `json:"limit,omitzero"` // bytes
	Kept  string `json:"kept,omitzero"`  // how long
}

// KnownModel is a model of which there may be no more than facts.
type KnownModel struct {
	api.Model
	Missing []string          `json:"missing,omitzero"` // what keeps it from being used here
	Dropped []string          `json:"dropped,omitzero"` // its options that are not sent, and why
	Variant *api.ModelVariant `json:"variant,omitzero"` // the one that was named
}

// Options are the settings that every command passes to the host.
type Options struct {
	Dir     string              // the Location, absolute
	Env     func(string) string // the environment
	Version string              // of this cairn, kept with the sessions it makes
	Record  string              // cassette to write provider traffic to; "" none
	Replay  string              // cassette to answer provider requests from; "" none
	Trust   string              // a word for trust.Judge: a hash, "none", or "" for what is kept
	Sandbox session.SandboxMode // of sessions that begin in this process, at least
	Read    bool                // reads the store if it has no owner, instead of becoming its owner
	Detach  bool                // starts a background server if the store has no owner, instead of becoming its owner
	Note    func(string)        // reports what the command waits for; may be nil

	Embedded *llm.EmbeddedModel // a model that the program itself provides; nil for none
}

// ServeOptions are those of cairn serve. What is not set is as the user's configuration says.
type ServeOptions struct {
	Options
	Hostname   string // "" without configuration: the loopback address, or all if the network is to find us
	Port       *int   // nil or 0 without configuration: OpenCode's if it is free, else any
	OpenLocal  bool   // serve loopback requests without credentials where the kernel cannot tell whose they are
	Origins    []string
	Background bool     // serve in a process of its own, which ends when it is idle; Serve returns when that one answers
	Arguments  []string // of the command line, for the background server
	UntilIdle  bool     // end when no client is connected and no session works
	SocketOnly bool     // no TCP, and no work of earlier owners is resumed
	MDNS       *bool    // let the local network find us
	MDNSDomain string   // under which name
}

// Listening says where a server answers.
type Listening struct {
	URL    string `json:"url"`    // "" without TCP
	Socket string `json:"socket"` // "" without a Unix socket
	PID    int    `json:"pid"`
	MDNS   string `json:"mdns,omitempty"` // name and port under which the local network finds it
	Note   string `json:"note,omitempty"` // what was asked for and is not so
	Log    string `json:"log,omitempty"`  // where a background server writes
}

// Offers is the way to the configurations that organisations offer.
type Offers interface {
	// Fetch fetches the offer at an address that the user typed.
	Fetch(ctx context.Context, address string) (*Offer, error)
	// Keep has the offer read as part of the configuration, while there is a login at its address.
	Keep(*Offer) error
	// Further fetches and keeps what the kept document of a login's address names, unless the token may not go there yet.
	Further(ctx context.Context, address string) error
	// Forget removes what was kept of an address.
	Forget(address string) error
}

// Offer is the configuration that an organisation offers.
type Offer struct {
	Address   string   // in the form in which it is kept
	Env       string   // the name of the token that it needs; "" needs none
	Command   []string // what prints one
	Elsewhere string   // where it names further configuration, "" nowhere
	Carriers  []string // the headers in which the token goes there
	Document  []byte
}

// Connection is a way to the owner of the store.
type Connection struct {
	API *api.Client
	// Close ends the connection. In the owner's process it first waits for sessions at work, up to a limit, and then
	// stops them.
	Close func(ctx context.Context) error
	// Owner describes the other process that does the work; "" if this one does.
	Owner string
	// Health is the answer of that process to the connection.
	Health api.Health
}

// Finding is one thing that doctor or fsck has to say.
type Finding struct {
	Level  Level  `json:"level"`
	What   string `json:"what"`            // what was looked at
	Detail string `json:"detail,omitzero"` // what was found
	Fix    string `json:"fix,omitzero"`    // what to do about it
}

// Level says how bad a Finding is.
type Level string

// The levels. A command whose findings hold a LevelError exits with 1.
const (
	LevelOK      Level = "ok"
	LevelNote    Level = "note"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)

// Salvage reports the recovered and the lost parts of a damaged store.
type Salvage struct {
	Home     string            `json:"home"` // the new one, to be used as CAIRN_HOME
	Events   int               `json:"events"`
	Sessions []SalvagedSession `json:"sessions"`
	Lost     []string          `json:"lost"` // what belongs to no session that is known
}

// SalvagedSession reports the recovered part of a session: its events up to the first that is lost.
type SalvagedSession struct {
	SessionID session.ID `json:"sessionID"`
	Title     string     `json:"title,omitzero"`
	Events    int        `json:"events"` // kept
	Lost      []string   `json:"lost"`
}

// IsComplete reports whether nothing was lost.
func (s *Salvage) IsComplete() bool {
	for _, one := range s.Sessions {
		if len(one.Lost) > 0 {
			return false
		}
	}
	return len(s.Lost) == 0
}
