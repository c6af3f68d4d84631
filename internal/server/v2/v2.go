// Package v2 serves the V2 contract over HTTP: OpenCode's /api (spec/v2 §22) and additive operations of ours.
//
// A handler is one call through one door: it changes through the engine, reads in one View of the store, or watches
// the log. It decodes, calls, encodes, and knows nothing of how the engine works.
//
// What a client is promised:
//
//   - Answers have OpenCode's shapes. Fields of ours that a recorded answer lacks come only with all=1; events and
//     messages are the stored bytes, with their additive fields.
//   - Every error is a tagged body of package api. A fault of the caller is 4xx; 5xx is ours, and its ref is in the log.
//   - Streams replay from their cursor and then follow, each durable event once and in order; a slow reader is never
//     ahead of the log nor in anybody's way. Every frame has as id the cursor behind which a reader that saw it goes on:
//     a durable one its own, all others that of the durable one before.
//   - Bodies are JSON without duplicate names, at most httpio.MaxDepth deep; unknown members are ignored, as OpenCode does,
//     but for those that differ from a known one in case only.
//
// Who may call is decided before, by package server.
package v2

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Config of an API. Files, Explainer, Doctor and Condition may be nil; everything else but Logger is needed.
type Config struct {
	Engine    *engine.Engine
	Store     Viewer
	Log       Watcher
	IDs       *session.IDs
	Locations Locations
	Files     Files // nil: there are none
	Explainer Explainer
	Doctor    Doctor
	Directory string // the location of requests that name none
	Health    api.Health
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
	NewestMark() eventlog.Mark
	FollowAllFrom(ctx context.Context, at eventlog.Mark) iter.Seq2[eventlog.Update, error]
}

// Locations tells what a directory offers. Errors that callers should see are *session.Error. The directory is absolute
// and clean.
type Locations interface {
	Location(ctx context.Context, l session.Location) (api.LocationInfo, error)
	Agents(ctx context.Context, l session.Location) ([]session.Agent, error)
	// Skills returns those there are, then those with a Problem.
	Skills(ctx context.Context, l session.Location) ([]api.Skill, error)
	Commands(ctx context.Context, l session.Location) ([]api.Command, error)
	// Expand makes the prompt of a command, running what its template wants to have run.
	Expand(ctx context.Context, l session.Location, r api.ExpandRequest) (api.Expanded, error)
	// Models and Providers return those that can be used, without any secret.
	Models(ctx context.Context, l session.Location) ([]api.Model, error)
	Providers(ctx context.Context, l session.Location) ([]api.Provider, error)
}

// Explainer says where settings come from: those of the key and below it, all with "".
type Explainer interface {
	Explain(ctx context.Context, l session.Location, key string) (jsontext.Value, error)
}

// Doctor says how the process and its data are.
type Doctor interface {
	Examine(ctx context.Context) (jsontext.Value, error)
}

// API serves the contract. Safe for concurrent use.
type API struct {
	engine    *engine.Engine
	store     Viewer
	log       Watcher
	ids       *session.IDs
	locations Locations
	files     Files
	explainer Explainer
	doctor    Doctor
	directory string
	health    api.Health
	condition func() error
	logger    *slog.Logger

	long   httpio.LongRequests
	recent recent
}

// New returns an API. It starts nothing.
func New(c Config) *API {
	a := &API{
		engine: c.Engine, store: c.Store, log: c.Log, ids: c.IDs, locations: c.Locations, files: c.Files, explainer: c.Explainer,
		doctor: c.Doctor, directory: c.Directory, health: c.Health, condition: c.Condition, logger: c.Logger,
	}
	if a.condition == nil {
		a.condition = func() error { return nil }
	}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.health.Healthy, a.health.Directory = true, c.Directory
	return a
}

// Close ends all streams and waits, those of now and those to come. Other requests go on.
func (a *API) Close() { a.long.Close() }

// endStreamsOfGone ends the streams of sessions that exist no more: nothing would ever come on them.
func (a *API) endStreamsOfGone(ctx context.Context) {
	for id := range a.long.StreamedSessions() {
		_, err := view(ctx, a, func(r store.Reader) (*session.Session, error) { return mustSession(r, id) })
		if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			a.long.CancelSession(id, err)
		}
	}
}

// view is one read of the store that returns a value.
func view[T any](ctx context.Context, a *API, f func(store.Reader) (T, error)) (out T, err error) {
	err = a.store.View(ctx, func(r store.Reader) (err error) {
		out, err = f(r)
		return err
	})
	return out, err
}

// Handler returns the routes as a handler. Paths that it does not know are 404, methods 405, both with a body.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range Routes() {
		mux.Handle(r.Method+" "+r.Path, endpoint{a, r})
	}
	return httpio.Router{Mux: mux, Fail: a.fail}
}
