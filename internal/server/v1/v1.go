// Package v1 serves the V1 contract over HTTP: OpenCode's /session, /config, /file and their neighbours (spec/v1 §40,
// spec/http §1.5), as a view. It has no data of its own.
//
// A handler is one call through one door: it changes through the engine, reads in one View of the store, or watches the
// log. What comes out is made by package opencode.
//
// What a client is promised:
//
//   - Answers have the shapes of OpenCode 1.18.33, also where the capability behind an operation is not there yet: then
//     they are those of an OpenCode that has none of it configured.
//   - Errors have OpenCode's envelopes; what is malformed is 400 and names the field, also where OpenCode answers 500.
//     A path or a method that is not there is told in JSON, never in HTML.
//   - A request is about the directory of its query, else of its header, else the server's own; a session's operations
//     are about the session's own.
//
// Who may call is decided before, by package server.
package v1

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/pty"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Config of an API. Everything but Head, Condition and Logger is needed.
type Config struct {
	Engine    *engine.Engine
	Store     Viewer
	Log       Watcher
	IDs       *session.IDs
	Places    Places
	Terminals *pty.Terminals
	Directory string // the location of requests that name none
	Version   string // of this cairn
	// Head is what git's HEAD says in a directory, "ref: refs/heads/BRANCH" or a commit, "" outside of a checkout. It costs little.
	Head      func(directory string) string
	Condition func() error // why nothing can be written now, nil if there is no reason
	Logger    *slog.Logger
}

// Viewer is the door for reading.
type Viewer interface {
	View(ctx context.Context, f func(store.Reader) error) error
}

// Watcher is the door for watching: package eventlog without its way to write.
type Watcher interface {
	Follow(ctx context.Context, id session.ID, after int64) iter.Seq2[eventlog.Update, error]
	FollowAllFrom(ctx context.Context, at eventlog.Mark) iter.Seq2[eventlog.Update, error]
	NewestMark() eventlog.Mark
}

// API serves the contract. Safe for concurrent use.
type API struct {
	engine    *engine.Engine
	store     Viewer
	log       Watcher
	ids       *session.IDs
	places    Places
	terminals *pty.Terminals
	directory string
	version   string
	head      func(directory string) string
	condition func() error
	logger    *slog.Logger
	started   int64 // when, in milliseconds

	notices notices
	handed  handed
	heads   heads
	line    *line
	logins  vendorLogins
	long    httpio.LongRequests // streams, and requests that wait for a session
}

// New returns an API. It starts nothing.
func New(c Config) *API {
	a := &API{
		engine: c.Engine, store: c.Store, log: c.Log, ids: c.IDs, places: c.Places, terminals: c.Terminals,
		directory: c.Directory, version: c.Version, head: c.Head, condition: c.Condition, logger: c.Logger,
		started: time.Now().UnixMilli(),
	}
	a.line = newLine(a)
	if a.head == nil {
		a.head = func(string) string { return "" }
	}
	if a.condition == nil {
		a.condition = func() error { return nil }
	}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	return a
}

// Close ends all streams, waits and logins with a browser, those of now and those to come. Other requests go on.
func (a *API) Close() {
	a.long.Close()
	a.logins.close()
}

// Handler returns the routes as a handler. Paths that it does not know are 404, methods 405, both with a body.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range Routes() {
		mux.Handle(r.Method+" "+r.Path, endpoint{a, r})
	}
	return httpio.Router{Mux: mux, Fail: a.fail}
}
